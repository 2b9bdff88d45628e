"""opencode. Facts about its configuration were measured with 1.18.33: OPENCODE_CONFIG names one more settings file, and
``@ai-sdk/openai-compatible`` speaks Chat Completions below ``baseURL``."""

from __future__ import annotations

import json
from pathlib import Path

from agentic_proxy.cli.clients.base import NO_TOKEN, TOKEN_VARIABLE, Connection, Launch, Recipe

PROVIDER = "agentic-proxy"


def launch(connection: Connection, folder: Path) -> Launch:
    """A settings file with the proxy as a provider; the key stays in the environment."""
    document = {
        "$schema": "https://opencode.ai/config.json",
        "share": "disabled",
        "autoupdate": False,
        "model": f"{PROVIDER}/{connection.model}",
        "provider": {
            PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",
                "name": PROVIDER,
                "options": {"baseURL": f"{connection.url}/v1", "apiKey": f"{{env:{TOKEN_VARIABLE}}}"},
                "models": {connection.model: {"name": connection.model, "tool_call": True}},
            }
        },
    }
    environment = {
        "OPENCODE_CONFIG": str(folder / "opencode.json"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        TOKEN_VARIABLE: connection.token or NO_TOKEN,
    }
    return Launch({"opencode.json": json.dumps(document, indent=2) + "\n"}, environment)


OPENCODE = Recipe(
    name="opencode",
    title="opencode",
    binary="opencode",
    binary_variable="OPENCODE_BIN",
    install="npm install -g opencode-ai",
    launch=launch,
    home=".config/opencode",
)
