"""Codex CLI. Facts about its configuration were measured with 0.107.0 to 0.171.0.

``model_catalog_url`` lets it learn every model that the proxy routes; without it a model that Codex does not know gets
no ``apply_patch``. Before 0.161 Codex asked for a catalog only where a command tells it the key. Where the proxy has
WebSockets switched off, its 426 sends Codex to HTTP at once and silently. A profile is a file of its own beside
config.toml; a ``[profiles.NAME]`` table in config.toml makes ``codex --profile NAME`` fail.
"""

from __future__ import annotations

import sys
from pathlib import Path

from agentic_proxy.cli.clients.base import MODEL, NO_TOKEN, TOKEN_VARIABLE, Connection, Launch, Recipe, Setting, quoted

PROVIDER = "agentic-proxy"
KEY_OF_ENVIRONMENT = (f"env_key = {quoted(TOKEN_VARIABLE)}",)
KEY_OF_NOBODY = (f"experimental_bearer_token = {quoted(NO_TOKEN)}",)
"""For a proxy that asks for none: without any key Codex asks for no catalog either."""
KEY_OF_COMMAND = (
    f'auth = {{ command = "printenv", args = [{quoted(TOKEN_VARIABLE)}] }}',
    # What an earlier one that knows no such command is let in by.
    f'env_http_headers = {{ "X-Api-Key" = {quoted(TOKEN_VARIABLE)} }}',
)
"""For a run only: there the variable is always set, and the catalog that an old one keeps in its home is the run's."""


def _provider(url: str, key: tuple[str, ...]) -> str:
    lines = [
        f"[model_providers.{PROVIDER}]",
        f"name = {quoted(PROVIDER)}",
        f"base_url = {quoted(url + '/v1')}",
        'wire_api = "responses"',
        *key,
        "requires_openai_auth = false",
        "supports_websockets = true",
        f"model_catalog_url = {quoted(url + '/v1/models')}",
    ]
    return "".join(f"{line}\n" for line in lines)


def launch(connection: Connection, folder: Path) -> Launch:
    """A Codex home with nothing but the proxy in it."""
    key = KEY_OF_ENVIRONMENT if sys.platform == "win32" else KEY_OF_COMMAND  # Windows has no printenv
    config = f"""\
model = {quoted(connection.model)}
model_provider = {quoted(PROVIDER)}
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

{_provider(connection.url, key)}"""
    environment = {"CODEX_HOME": str(folder), TOKEN_VARIABLE: connection.token or NO_TOKEN}
    return Launch({"config.toml": config}, environment)


def settings(connection: Connection) -> tuple[Setting, ...]:
    """The provider in config.toml, and a profile that chooses it. With a token Codex is told to take it from the
    environment; it is never written down."""
    provider = _provider(connection.url, KEY_OF_ENVIRONMENT if connection.token else KEY_OF_NOBODY)
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
