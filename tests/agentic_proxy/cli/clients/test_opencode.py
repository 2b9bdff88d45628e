"""What opencode will be given."""

from __future__ import annotations

import json
from pathlib import Path

from agentic_proxy.cli.clients.base import Connection
from agentic_proxy.cli.clients.opencode import OPENCODE, settings


def test_it_gets_a_settings_file_that_takes_the_token_from_the_environment() -> None:
    made = OPENCODE.launch(Connection("http://127.0.0.1:1", "canary-token", "a/m"), Path("/f"))
    assert "canary-token" not in made.files["opencode.json"]
    document = json.loads(made.files["opencode.json"])
    assert document["model"] == "agentic-proxy/a/m"
    assert document["provider"] == {
        "agentic-proxy": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "agentic-proxy",
            "options": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "{env:AGENTIC_PROXY_API_KEY}"},
            "models": {"a/m": {"name": "a/m", "tool_call": True}},
        }
    }
    assert made.environment == {
        "OPENCODE_CONFIG": "/f/opencode.json",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "AGENTIC_PROXY_API_KEY": "canary-token",
    }


def test_for_good_it_gets_one_more_provider_with_one_model() -> None:
    (made,) = settings(Connection("http://127.0.0.1:1", "", "a/m"))
    assert made.paths == ("opencode.json", "opencode.jsonc")
    provider = made.members["provider"]["agentic-proxy"]
    assert provider["options"] == {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "none"}
    assert (list(provider["models"]), list(made.members)) == (["a/m"], ["provider"])
