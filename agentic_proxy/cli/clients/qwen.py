"""qwen-code. Facts about its environment were measured with 0.15.10: ``--auth-type openai`` speaks Chat Completions to
OPENAI_BASE_URL. It sends even loopback through HTTPS_PROXY, so that is emptied for it."""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import NO_TOKEN, Connection, Launch, Recipe


def launch(connection: Connection, folder: Path) -> Launch:
    """Environment and two arguments; it has no variable for a home of its own."""
    return Launch(
        environment={
            "OPENAI_API_KEY": connection.token or NO_TOKEN,
            "OPENAI_BASE_URL": f"{connection.url}/v1",
            "OPENAI_MODEL": connection.model,
            "QWEN_TELEMETRY_ENABLED": "false",
            "HTTPS_PROXY": "",
            "https_proxy": "",
        },
        arguments=("--auth-type", "openai"),
    )


QWEN = Recipe(
    name="qwen",
    title="qwen-code",
    binary="qwen",
    binary_variable="QWEN_BIN",
    install="npm install -g @qwen-code/qwen-code",
    launch=launch,
    home=".qwen",
)
