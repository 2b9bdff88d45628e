"""opencode. Facts about its configuration were measured with 1.18.33: OPENCODE_CONFIG names one more settings file, and
``@ai-sdk/openai-compatible`` speaks Chat Completions below ``baseURL``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentic_proxy.cli.clients.base import MODEL, NO_TOKEN, TOKEN_VARIABLE, Connection, JsonSetting, Launch, Recipe

PROVIDER = "agentic-proxy"


def _provider(connection: Connection, key: str) -> dict[str, Any]:
    return {
        PROVIDER: {
            "npm": "@ai-sdk/openai-compatible",
            "name": PROVIDER,
            "options": {"baseURL": f"{connection.url}/v1", "apiKey": key},
            "models": {connection.model: {"name": connection.model, "tool_call": True}},
        }
    }


def settings(connection: Connection) -> tuple[JsonSetting, ...]:
    """The proxy as one more provider; with a token opencode is told to take it from the environment. It knows only the
    models that its settings name."""
    key = f"{{env:{TOKEN_VARIABLE}}}" if connection.token else NO_TOKEN
    return (JsonSetting(("opencode.json", "opencode.jsonc"), {"provider": _provider(connection, key)}),)


def launch(connection: Connection, folder: Path) -> Launch:
    """A settings file with the proxy as a provider; the key stays in the environment."""
    document = {
        "$schema": "https://opencode.ai/config.json",
        "share": "disabled",
        "autoupdate": False,
        "model": f"{PROVIDER}/{connection.model}",
        "provider": _provider(connection, f"{{env:{TOKEN_VARIABLE}}}"),
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
    settings=settings,
    usage=f"opencode --model {PROVIDER}/{MODEL}",
    needs_model=True,
)
