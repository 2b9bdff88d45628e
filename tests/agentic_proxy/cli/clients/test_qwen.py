"""What qwen-code will be given."""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import Connection
from agentic_proxy.cli.clients.qwen import QWEN, settings


def test_it_gets_the_chat_address_and_no_outbound_proxy() -> None:
    made = QWEN.launch(Connection("http://127.0.0.1:1", "t", "m"), Path("/f"))
    assert made.environment == {
        "OPENAI_API_KEY": "t",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "OPENAI_MODEL": "m",
        "QWEN_TELEMETRY_ENABLED": "false",
        "HTTPS_PROXY": "",
        "https_proxy": "",
    }
    assert (made.files, made.arguments) == ({}, ("--auth-type", "openai"))


def test_for_good_it_gets_an_address_and_the_name_of_the_variable_with_the_key() -> None:
    (made,) = settings(Connection("http://127.0.0.1:1", "t", "a/m"))
    auth = {"selectedType": "openai", "baseUrl": "http://127.0.0.1:1/v1", "apiKey": "$AGENTIC_PROXY_API_KEY"}
    assert made.members == {"security": {"auth": auth}, "model": {"name": "a/m"}}
    assert settings(Connection("http://127.0.0.1:1", "", ""))[0].members == {
        "security": {"auth": {**auth, "apiKey": "none"}}
    }
