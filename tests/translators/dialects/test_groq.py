"""Groq, as its SDK and its refusals say."""

from __future__ import annotations

from support.dialects import CALL, OUTPUT, SUMMARY, TOOL, upstream_body, user


def test_reasoning_never_goes_back() -> None:
    body = upstream_body("groq", "m", input=[user(), SUMMARY, CALL, OUTPUT], tools=[TOOL], reasoning={"effort": "max"})
    assert body["messages"][1].keys() == {"role", "content", "tool_calls"}
    assert body["reasoning_effort"] == "high"
