"""MiniMax, as its documentation and its refusals say."""

from __future__ import annotations

from support.dialects import TOOL, upstream_body, without


def test_thinking_is_split_from_the_text_and_switched_by_type() -> None:
    body = upstream_body("minimax", "MiniMax-M3", reasoning={"effort": "none"}, max_output_tokens=9, tools=[TOOL])
    assert without(body, "messages", "tools") == {
        "reasoning_split": True,
        "max_completion_tokens": 9,
        "thinking": {"type": "disabled"},
    }
    assert "strict" not in body["tools"][0]["function"]
    assert upstream_body("minimax", "MiniMax-M3", reasoning={"effort": "high"})["thinking"] == {"type": "adaptive"}
