"""MiniMax, as its documentation and its refusals say."""

from __future__ import annotations

import pytest

from support.dialects import PICTURE, TOOL, upstream_body, without


def test_thinking_is_split_from_the_text_and_switched_by_type() -> None:
    body = upstream_body("minimax", "MiniMax-M3", reasoning={"effort": "none"}, max_output_tokens=9, tools=[TOOL])
    assert without(body, "messages", "tools") == {
        "reasoning_split": True,
        "max_completion_tokens": 9,
        "thinking": {"type": "disabled"},
    }
    assert "strict" not in body["tools"][0]["function"]
    assert upstream_body("minimax", "MiniMax-M3", reasoning={"effort": "high"})["thinking"] == {"type": "adaptive"}


@pytest.mark.parametrize(
    ("model", "sees"), [("MiniMax-M3", True), ("MiniMax-M3.1-Flash-Preview", True), ("MiniMax-M2.5", False)]
)
def test_images_go_to_models_that_see(model: str, sees: bool) -> None:
    assert ("image_url" in str(upstream_body("minimax", model, input=[PICTURE]))) is sees
