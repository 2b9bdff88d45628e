"""Qwen on DashScope, as its documentation says."""

from __future__ import annotations

import pytest

from support.dialects import TOOL, upstream_body


@pytest.mark.parametrize(("effort", "on"), [("none", False), ("low", True)])
def test_thinking_is_a_boolean_and_no_tool_is_forced(effort: str, on: bool) -> None:
    body = upstream_body("qwen", "qwen3.8-max", reasoning={"effort": effort}, tools=[TOOL], tool_choice="required")
    assert (body["enable_thinking"], body["tool_choice"]) == (on, "auto")
