"""DeepSeek, as its documentation and its refusals say."""

from __future__ import annotations

from typing import Any

import pytest

from support.dialects import CALL, OUTPUT, PICTURE, SUMMARY, TOOL, upstream_body, user, without


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("none", {"thinking": {"type": "disabled"}}),
        ("minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("xhigh", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    ],
)
def test_thinking_is_a_switch_and_a_level(asked: str, sent: dict[str, Any]) -> None:
    assert without(upstream_body("deepseek", "deepseek-v4-pro", reasoning={"effort": asked}), "messages") == sent


def test_every_message_of_the_assistant_has_reasoning() -> None:
    said = {"role": "assistant", "content": "plain"}
    messages = upstream_body("deepseek", "deepseek-v4-pro", input=[user(), said, user(), SUMMARY, CALL, OUTPUT])[
        "messages"
    ]
    spoken = [message["reasoning_content"] for message in messages if message["role"] == "assistant"]
    assert spoken == ["", "think"]


def test_a_schema_for_the_answer_is_told_in_words() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
    body = upstream_body("deepseek", "deepseek-v4-pro", text={"format": form}, instructions="Be brief.")
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"][0] == {
        "role": "system",
        "content": "Be brief.\n\nAnswer with one JSON object and nothing else. It must fit this JSON schema: "
        '{"type":"object"}',
    }


@pytest.mark.parametrize(
    ("model", "sees"), [("deepseek-v4-pro", False), ("deepseek-flash", True), ("deepseek-vision", True)]
)
def test_images_go_to_models_that_see(model: str, sees: bool) -> None:
    body = upstream_body(
        "deepseek", model, input=[PICTURE], tools=[TOOL], parallel_tool_calls=True, tool_choice="required"
    )
    assert ("image_url" in str(body["messages"])) is sees
    assert (body["tool_choice"], body.get("parallel_tool_calls")) == ("auto", None)


def test_its_responses_endpoint_takes_known_items_in_order() -> None:
    search = {"type": "web_search_call", "id": "ws", "status": "completed"}
    body = upstream_body("deepseek", "deepseek-v4-pro", "responses", input=[CALL, search, user("x"), OUTPUT])
    blank = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": " "}]}
    assert body["input"] == [blank, CALL, OUTPUT, user("x")]
    off = upstream_body("deepseek", "deepseek-v4-pro", "responses", input=[CALL, OUTPUT], reasoning={"effort": "none"})
    assert off["input"] == [CALL, OUTPUT]
