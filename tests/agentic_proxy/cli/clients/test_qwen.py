"""What qwen-code will be given."""

from __future__ import annotations

from pathlib import Path

from agentic_proxy.cli.clients.base import Connection
from agentic_proxy.cli.clients.qwen import QWEN


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
