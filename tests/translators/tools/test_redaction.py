"""MCP credentials never leave the turn that brought them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from translators.tools.redaction import redact_item, redact_tools

FUNCTION = {"type": "function", "name": "headers", "parameters": {"headers": 1, "authorization": 2}}
SAFE = {
    "type": "mcp",
    "server_label": "x",
    "server_url": "https://x",
    "allowed_tools": ["a"],
    "require_approval": "never",
}


def test_an_mcp_tool_stays_without_its_headers_and_authorization() -> None:
    given = [
        FUNCTION,
        {**SAFE, "headers": {"X-Key": "secret"}, "authorization": "secret"},
        {"authorization": None, **SAFE},
    ]
    before = copy.deepcopy(given)
    assert redact_tools(given) == [FUNCTION, SAFE, SAFE]
    assert given == before, "the turn itself still needs them"


def test_an_item_stays_without_the_credentials_of_what_it_declares() -> None:
    given = {"type": "additional_tools", "tools": [FUNCTION, {**SAFE, "authorization": "secret"}]}
    before = copy.deepcopy(given)
    assert redact_item(given) == {"type": "additional_tools", "tools": [FUNCTION, SAFE]}
    assert given == before
    for other in ({"type": "message"}, {"tools": [SAFE]}, {"tools": "text"}):
        assert redact_item(other) is other


URLS = {
    "https://mcp.example/mcp": None,
    "https://mcp.example/mcp?version=2&region=eu": None,
    "https://mcp.example/s/a1b2c3d4e5f6a7b8c9/mcp": "https://mcp.example/s/***/mcp",
    "https://mcp.example/s/0b0a7a3c-1111-4222-8333-0123456789ab": "https://mcp.example/s/***",
    "https://mcp.example/mcp?v=2&apiKey=abc&x=a1b2c3d4e5f6a7b8c9#f": "https://mcp.example/mcp?v=2&apiKey=***&x=***",
    "https://mcp.example/mcp?a1b2c3d4e5f6a7b8c9": "https://mcp.example/mcp?***",
    "https://mcp.example/mcp?%61pi_k%65y=abc": "https://mcp.example/mcp?%61pi_k%65y=***",
    "https://user:pass@mcp.example:8443/mcp": "https://***@mcp.example:8443/mcp",
    "https://a1b2c3d4e5f6a7b8c9.example": None,
}


@pytest.mark.parametrize(("url", "kept"), URLS.items(), ids=URLS)
def test_an_address_stays_without_the_credentials_in_it(url: str, kept: str | None) -> None:
    tool = {**SAFE, "server_url": url}
    assert redact_tools([tool]) == [{**SAFE, "server_url": kept or url}]
    assert (redact_tools([tool])[0] is tool) == (kept is None)


@pytest.mark.parametrize(
    "tools", [None, [], [FUNCTION, SAFE], "text", {"type": "mcp", "headers": 1}, [None, 3, "mcp", []]]
)
def test_what_holds_no_credential_is_the_same_object(tools: Any) -> None:
    assert redact_tools(tools) is tools
