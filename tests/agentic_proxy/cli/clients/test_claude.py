"""What Claude Code will be given."""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import Connection
from agentic_proxy.cli.clients.claude import CLAUDE, settings


def test_it_gets_the_address_without_a_path_and_the_token_as_bearer_key() -> None:
    made = CLAUDE.launch(Connection("http://127.0.0.1:1", "t", "m"), Path("/f"))
    assert made.environment == {
        "CLAUDE_CONFIG_DIR": "/f",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_AUTH_TOKEN": "t",
        "ANTHROPIC_MODEL": "m",
        "ANTHROPIC_SMALL_FAST_MODEL": "m",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    assert (made.files, made.arguments) == ({}, ())


def test_for_good_it_gets_an_environment_or_a_helper_that_reads_the_key() -> None:
    (open_,) = settings(Connection("http://127.0.0.1:1", "", ""))
    assert open_.members == {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_AUTH_TOKEN": "none"}}
    (keyed,) = settings(Connection("http://127.0.0.1:1", "t", "m"))
    assert keyed.members == {
        "env": {
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
            "ANTHROPIC_MODEL": "m",
            "ANTHROPIC_SMALL_FAST_MODEL": "m",
        },
        "apiKeyHelper": "printenv AGENTIC_PROXY_API_KEY",
    }
