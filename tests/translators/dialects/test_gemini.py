"""Gemini's OpenAI-compatible endpoint, as its documentation says."""

from __future__ import annotations

import pytest

from support.dialects import CALL, OUTPUT, TOOL, upstream_body, user
from translators.reasoning import NATIVE


def test_a_calls_signature_goes_back_on_that_call() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "sig"}}}
    native = {"type": "reasoning", "summary": [], NATIVE: {"calls": {"call_1": extra}}}
    for items in ([native, CALL, OUTPUT], [CALL, native, OUTPUT]):
        body = upstream_body("gemini", "gemini-3-pro", input=[user(), *items], tools=[TOOL])
        (call,) = body["messages"][1]["tool_calls"]
        assert call["extra_content"] == extra["extra_content"]


def test_schemas_are_narrow() -> None:
    odd = {
        "type": "object",
        "properties": {"x": {"type": ["string", "null"]}},
        "additionalProperties": False,
        "$id": "i",
    }
    body = upstream_body("gemini", "gemini-3-pro", tools=[{**TOOL, "parameters": odd}], parallel_tool_calls=False)
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {"x": {"type": "string"}}}
    assert "parallel_tool_calls" not in body


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("gemini-3-pro", "none", "low"),
        ("gemini-3.1-pro-preview", "medium", "high"),
        ("gemini-3-flash", "none", "minimal"),
        ("models/gemini-3-flash", "medium", "medium"),
        ("gemini-2.5-pro", "none", "low"),
        ("gemini-2.5-pro", "medium", "medium"),
        ("gemini-2.5-flash", "none", "none"),
        ("gemini-2.5-flash", "max", "high"),
    ],
)
def test_only_some_models_can_be_told_not_to_think(model: str, asked: str, sent: str) -> None:
    assert upstream_body("gemini", model, reasoning={"effort": asked})["reasoning_effort"] == sent
