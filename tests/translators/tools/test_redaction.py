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


@pytest.mark.parametrize(
    "tools", [None, [], [FUNCTION, SAFE], "text", {"type": "mcp", "headers": 1}, [None, 3, "mcp", []]]
)
def test_what_holds_no_credential_is_the_same_object(tools: Any) -> None:
    assert redact_tools(tools) is tools
