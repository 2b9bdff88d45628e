"""qwen-code. Facts about its environment were measured with 0.15.10: ``--auth-type openai`` speaks Chat Completions to
OPENAI_BASE_URL. It sends even loopback through HTTPS_PROXY, so that is emptied for it."""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import MODEL, NO_TOKEN, TOKEN_VARIABLE, Connection, JsonSetting, Launch, Recipe


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


def settings(connection: Connection) -> tuple[JsonSetting, ...]:
    """Where its models are; a token is taken from the environment by the name in the settings. OPENAI_API_KEY and the
    like in the environment win over these settings."""
    auth = {
        "selectedType": "openai",
        "baseUrl": f"{connection.url}/v1",
        "apiKey": f"${TOKEN_VARIABLE}" if connection.token else NO_TOKEN,
    }
    model = {"model": {"name": connection.model}} if connection.model else {}
    return (JsonSetting(("settings.json",), {"security": {"auth": auth}, **model}),)


QWEN = Recipe(
    name="qwen",
    title="qwen-code",
    binary="qwen",
    binary_variable="QWEN_BIN",
    install="npm install -g @qwen-code/qwen-code",
    launch=launch,
    home_variable="QWEN_HOME",
    home=".qwen",
    settings=settings,
    usage=f"qwen --model {MODEL}",
)
