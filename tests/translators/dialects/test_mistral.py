"""Mistral, as its SDK and its refusals say."""

from __future__ import annotations

import pytest

from support.dialects import CALL, OUTPUT, SUMMARY, TOOL, upstream_body, user, without


def test_thoughts_are_parts_ids_are_short_and_nobody_speaks_after_a_tool_but_the_assistant() -> None:
    body = upstream_body("mistral", "m", input=[user(), SUMMARY, CALL, OUTPUT, user("next")], tools=[TOOL])
    first, spoken, result, bridge, last = body["messages"]
    assert (first["role"], last["content"], bridge) == ("user", "next", {"role": "assistant", "content": "OK."})
    assert spoken["content"] == [{"type": "thinking", "thinking": [{"type": "text", "text": "think"}]}]
    assert (len(result["tool_call_id"]), result["tool_call_id"]) == (9, spoken["tool_calls"][0]["id"])


def test_fields_that_its_schema_does_not_have_stay_here() -> None:
    body = upstream_body("mistral", "m", user="u", seed=1, prompt_cache_key="k", reasoning={"effort": "low"})
    assert "stream_options" not in body
    assert without(body, "messages") == {"prompt_cache_key": "k", "reasoning_effort": "high"}


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("mistral-medium-latest", "low", "high"),
        ("zai-glm-5-2", "none", "none"),
        ("zai-glm-5-3", "none", "low"),
        ("zai-glm-5-3", "medium", "high"),
        ("zai-glm-5-3", "xhigh", "max"),
        ("zai-glm-5-3", "low", "low"),
    ],
)
def test_levels_by_model(model: str, asked: str, sent: str) -> None:
    """ "supported values: ['low', 'high', 'max']" (mistralai/mistral-vibe#1115)."""
    assert upstream_body("mistral", model, reasoning={"effort": asked})["reasoning_effort"] == sent
