"""Groq, as its SDK and its refusals say."""

from __future__ import annotations

from typing import Any

import pytest

from support.dialects import CALL, OUTPUT, SUMMARY, TOOL, upstream_body, user, without


def test_reasoning_never_goes_back() -> None:
    body = upstream_body("groq", "m", input=[user(), SUMMARY, CALL, OUTPUT], tools=[TOOL])
    assert body["messages"][1].keys() == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("openai/gpt-oss-120b", "max", {"reasoning_effort": "high"}),
        ("openai/gpt-oss-20b", "none", {"reasoning_effort": "low"}),
        ("qwen/qwen3-32b", "high", {"reasoning_effort": "default", "reasoning_format": "parsed"}),
        ("qwen/qwen3-32b", "none", {"reasoning_effort": "none", "reasoning_format": "parsed"}),
        ("llama-3.3-70b-versatile", "high", {}),
    ],
)
def test_levels_of_effort_are_those_of_whose_model_it_is(model: str, asked: str, sent: dict[str, Any]) -> None:
    assert without(upstream_body("groq", model, reasoning={"effort": asked}), "messages") == sent
