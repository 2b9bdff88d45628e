"""What Codex is given."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from agentic_proxy.cli.clients.base import Connection
from agentic_proxy.cli.clients.codex import launch, settings

PROVIDER = {
    "name": "agentic-proxy",
    "base_url": "http://127.0.0.1:1/v1",
    "wire_api": "responses",
    "requires_openai_auth": False,
    "supports_websockets": True,
    "model_catalog_url": "http://127.0.0.1:1/v1/models",
}
KEYED = {**PROVIDER, "env_key": "AGENTIC_PROXY_API_KEY"}
ASKED_FOR_ITS_CATALOG_BY_AN_OLD_CODEX_TOO = {
    **PROVIDER,
    "auth": {"command": "printenv", "args": ["AGENTIC_PROXY_API_KEY"]},
    "env_http_headers": {"X-Api-Key": "AGENTIC_PROXY_API_KEY"},
}


@pytest.mark.parametrize(("token", "sent"), [("t", "t"), ("", "none")])
@pytest.mark.parametrize(
    ("platform", "provider"), [("linux", ASKED_FOR_ITS_CATALOG_BY_AN_OLD_CODEX_TOO), ("win32", KEYED)]
)
def test_a_run_gets_a_home_with_nothing_but_the_proxy(
    token: str, sent: str, platform: str, provider: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    made = launch(Connection("http://127.0.0.1:1", token, 'm"odel'), Path("/home-of-a-run"))
    assert tomllib.loads(made.files["config.toml"]) == {
        "model": 'm"odel',
        "model_provider": "agentic-proxy",
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
        "features": {"plugins": False},
        "model_providers": {"agentic-proxy": provider},
    }
    assert made.environment == {"CODEX_HOME": "/home-of-a-run", "AGENTIC_PROXY_API_KEY": sent}
    assert (list(made.files), made.arguments) == (["config.toml"], ())


@pytest.mark.parametrize(
    ("token", "model", "provider", "profile"),
    [
        ("", "", {**PROVIDER, "experimental_bearer_token": "none"}, {"model_provider": "agentic-proxy"}),
        ("canary-token", "a/b", KEYED, {"model": "a/b", "model_provider": "agentic-proxy"}),
    ],
)
def test_for_good_it_gets_a_provider_and_a_profile_without_the_token(
    token: str, model: str, provider: dict[str, object], profile: dict[str, object]
) -> None:
    config, chosen = settings(Connection("http://127.0.0.1:1", token, model))
    assert tomllib.loads(config.text) == {"model_providers": {"agentic-proxy": provider}}
    assert tomllib.loads(chosen.text) == profile
    assert "canary-token" not in config.text + chosen.text
    assert (config.path, chosen.path) == ("config.toml", "agentic-proxy.config.toml")
