"""Kimi / Moonshot, as its documentation and its refusals say."""

from __future__ import annotations

from typing import Any

import pytest

from support.dialects import CALL, OUTPUT, SUMMARY, TOOL, upstream_body, user, without


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("kimi-k3", "medium", {"reasoning_effort": "high"}),
        ("kimi-k3", "minimal", {"reasoning_effort": "low"}),
        ("kimi-k3", "none", {"reasoning_effort": "low"}),
        ("kimi-k3", "xhigh", {"reasoning_effort": "max"}),
        ("k3-256k", "max", {"reasoning_effort": "max"}),
        ("kimi-k2.7-code", "none", {}),
        ("kimi-k2.6", "none", {"thinking": {"type": "disabled"}}),
        ("kimi-k2.6", "high", {"thinking": {"type": "enabled"}}),
        ("kimi-for-coding", "low", {}),
        ("moonshot-v1-128k", "low", {}),
    ],
)
def test_thinking_is_asked_for_as_each_model_wants(model: str, asked: str, sent: dict[str, Any]) -> None:
    assert without(upstream_body("kimi", model, reasoning={"effort": asked}), "messages") == sent


def test_sampling_stays_here_except_for_models_that_do_not_think() -> None:
    asked = {"temperature": 0.2, "top_p": 0.9, "presence_penalty": 0.1, "max_output_tokens": 9}
    assert without(upstream_body("kimi", "kimi-k3", **asked), "messages") == {"max_completion_tokens": 9}
    sent = without(upstream_body("kimi", "moonshot-v1-8k", **asked), "messages")
    assert sent == {"max_completion_tokens": 9, "temperature": 0.2, "top_p": 0.9, "presence_penalty": 0.1}


@pytest.mark.parametrize(
    ("model", "choice", "sent"),
    [
        ("kimi-k3", "required", "required"),
        ("kimi-k2.6", "required", "auto"),
        ("kimi-k3", {"type": "function", "name": "f"}, "required"),
        ("kimi-k2.7-code", {"type": "function", "name": "f"}, "auto"),
        ("moonshot-v1-8k", {"type": "function", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_choices_that_thinking_excludes_are_said_otherwise(model: str, choice: Any, sent: Any) -> None:
    assert upstream_body("kimi", model, tools=[TOOL], tool_choice=choice)["tool_choice"] == sent


@pytest.mark.parametrize(("items", "reasoning"), [([SUMMARY, CALL, OUTPUT], "think"), ([CALL, OUTPUT], " ")])
def test_every_message_with_calls_brings_its_reasoning_back(items: list[Any], reasoning: str) -> None:
    history = [user(), {"role": "assistant", "content": "plain"}, user("go"), *items]
    messages = upstream_body("kimi", "kimi-k3", input=history, tools=[TOOL])["messages"]
    spoken = [message for message in messages if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in spoken] == [None, reasoning]


def test_a_note_in_the_middle_is_users_text_and_schemas_are_moonshots() -> None:
    odd = {**TOOL, "parameters": {"type": "object", "properties": {"x": {}}}}
    history = [user(), {"role": "developer", "content": "note"}]
    body = upstream_body("kimi", "kimi-k3", input=history, tools=[odd])
    assert [message["role"] for message in body["messages"]] == ["user", "user"]
    assert body["tools"][0]["function"] == {
        "name": "f",
        "parameters": {"type": "object", "properties": {"x": {"type": "object"}}},
    }
