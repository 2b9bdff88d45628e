"""Z.ai, as its documentation says."""

from __future__ import annotations

from typing import Any

import pytest

from support.dialects import PICTURE, TOOL, upstream_body, without


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("glm-4.7", "high", {"thinking": {"type": "enabled"}}),
        ("glm-4.7", "none", {"thinking": {"type": "disabled"}}),
        ("glm-5.2", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("glm-5.2", "none", {"thinking": {"type": "disabled"}}),
        ("glm-5.3-flash", "none", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("glm-5.3", "xhigh", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    ],
)
def test_thinking_by_model(model: str, asked: str, sent: dict[str, Any]) -> None:
    assert without(upstream_body("zai", model, reasoning={"effort": asked}), "messages") == sent


def test_no_choice_and_no_parallel_calls_are_sent() -> None:
    body = upstream_body("zai", "glm-5.3", tools=[TOOL], tool_choice="auto", parallel_tool_calls=True)
    assert without(body, "messages").keys() == {"tools"}


@pytest.mark.parametrize(
    ("model", "sees"),
    [("glm-5.3", False), ("glm-4.7", False), ("glm-4.6v", True), ("glm-5v-turbo", True), ("glm-5.3-flash", True)],
)
def test_images_go_to_models_that_see(model: str, sees: bool) -> None:
    assert ("image_url" in str(upstream_body("zai", model, input=[PICTURE]))) is sees


def test_a_user_has_spoken_in_every_history() -> None:
    body = upstream_body("zai", "glm-5.3", instructions="Do it.", input=[])
    assert body["messages"] == [{"role": "system", "content": "Do it."}, {"role": "user", "content": "Continue."}]
