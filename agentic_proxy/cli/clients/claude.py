"""Claude Code. Facts about its environment were measured with 2.1.197: it adds /v1/messages to the address itself, and
sends ANTHROPIC_AUTH_TOKEN as a Bearer key."""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import MODEL, NO_TOKEN, TOKEN_VARIABLE, Connection, JsonSetting, Launch, Recipe


def launch(connection: Connection, folder: Path) -> Launch:
    """A configuration folder of its own; everything else is environment."""
    return Launch(
        environment={
            "CLAUDE_CONFIG_DIR": str(folder),
            "ANTHROPIC_BASE_URL": connection.url,
            "ANTHROPIC_AUTH_TOKEN": connection.token or NO_TOKEN,
            "ANTHROPIC_MODEL": connection.model,
            "ANTHROPIC_SMALL_FAST_MODEL": connection.model,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
    )


def settings(connection: Connection) -> tuple[JsonSetting, ...]:
    """The environment that it gives itself. A token is never written down: a helper reads it from the environment, and
    its output goes out as both kinds of key."""
    model = connection.model
    models = {"ANTHROPIC_MODEL": model, "ANTHROPIC_SMALL_FAST_MODEL": model} if model else {}
    environment = {"ANTHROPIC_BASE_URL": connection.url, **models}
    if connection.token:
        members = {"env": environment, "apiKeyHelper": f"printenv {TOKEN_VARIABLE}"}
    else:
        members = {"env": {**environment, "ANTHROPIC_AUTH_TOKEN": NO_TOKEN}}
    return (JsonSetting(("settings.json",), members),)


CLAUDE = Recipe(
    name="claude",
    title="Claude Code",
    binary="claude",
    binary_variable="CLAUDE_BIN",
    install="npm install -g @anthropic-ai/claude-code",
    launch=launch,
    home_variable="CLAUDE_CONFIG_DIR",
    home=".claude",
    links=("CLAUDE.md", "commands", "skills"),
    settings=settings,
    usage=f"claude --model {MODEL}",
)
