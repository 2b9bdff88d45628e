"""Codex CLI. Facts about its configuration were measured with 0.171.0.

``model_catalog_url`` lets it learn every model that the proxy routes; without it a model that Codex does not know gets
no ``apply_patch``. Where the proxy has WebSockets switched off, its 426 sends Codex to HTTP at once and silently. A
profile is a file of its own beside config.toml; a ``[profiles.NAME]`` table in config.toml makes ``codex --profile
NAME`` fail.
"""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import MODEL, NO_TOKEN, TOKEN_VARIABLE, Connection, Launch, Recipe, Setting, quoted

PROVIDER = "agentic-proxy"


def _provider(url: str, *, env_key: bool) -> str:
    lines = [
        f"[model_providers.{PROVIDER}]",
        f"name = {quoted(PROVIDER)}",
        f"base_url = {quoted(url + '/v1')}",
        'wire_api = "responses"',
        *([f"env_key = {quoted(TOKEN_VARIABLE)}"] if env_key else []),
        "requires_openai_auth = false",
        "supports_websockets = true",
        f"model_catalog_url = {quoted(url + '/v1/models')}",
    ]
    return "".join(f"{line}\n" for line in lines)


def launch(connection: Connection, folder: Path) -> Launch:
    """A Codex home with nothing but the proxy in it."""
    config = f"""\
model = {quoted(connection.model)}
model_provider = {quoted(PROVIDER)}
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

{_provider(connection.url, env_key=True)}"""
    environment = {"CODEX_HOME": str(folder), TOKEN_VARIABLE: connection.token or NO_TOKEN}
    return Launch({"config.toml": config}, environment)


def settings(connection: Connection) -> tuple[Setting, ...]:
    """The provider in config.toml, and a profile that chooses it. With a token Codex is told to take it from the
    environment; it is never written down."""
    provider = _provider(connection.url, env_key=bool(connection.token))
    model = f"model = {quoted(connection.model)}" if connection.model else '# model = "PROVIDER/MODEL"'
    profile = f"{model}\nmodel_provider = {quoted(PROVIDER)}\n"
    return (
        Setting("config.toml", provider, (f"model_providers.{PROVIDER}",)),
        Setting(f"{PROVIDER}.config.toml", profile, ("model", "model_provider")),
    )


CODEX = Recipe(
    name="codex",
    title="Codex",
    binary="codex",
    binary_variable="CODEX_BIN",
    install="npm install -g @openai/codex",
    launch=launch,
    home_variable="CODEX_HOME",
    home=".codex",
    links=("AGENTS.md", "prompts", "skills"),
    settings=settings,
    usage=f"codex --profile {PROVIDER} --model {MODEL}",
)
