"""A finished hub response as a message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.streams import public
from translators.messages.answer import shows_thinking, stop_reason, whole
from translators.relay import WHOLE
from translators.usage import usage_of

CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"a":"x","b":""}'}
OUTPUT = (
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "sealed"},
    {"type": "reasoning", "summary": [], "encrypted_content": "red"},
    {"type": "reasoning", "summary": []},
    {"type": "message", "content": [{"type": "output_text", "text": "hi"}, {"type": "output_text", "text": ""}]},
    CALL,
    {"type": "custom_tool_call", "call_id": "b", "name": "c", "input": "x"},
)


def response(*output: Any, **changes: Any) -> dict[str, Any]:
    return {**public().object("completed", [*output], usage=usage_of(3, 2, cached=1)), **changes}


def test_everything_in_one_object() -> None:
    made = json.loads(whole(response(*OUTPUT), {"thinking": {"type": "enabled"}}))
    assert made == {
        "id": "msg_0a1b",
        "type": "message",
        "role": "assistant",
        "model": "house/model",
        "content": [
            {"type": "thinking", "thinking": "t", "signature": "sealed"},
            {"type": "redacted_thinking", "data": "red"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"a": "x", "b": ""}},
            {"type": "tool_use", "id": "b", "name": "c", "input": {"input": "x"}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 2,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 1,
            "output_tokens": 2,
        },
    }
    assert json.loads(whole(response(*OUTPUT), {}))["content"][0]["type"] == "text"


def test_an_answer_that_came_in_this_format_leaves_as_it_came() -> None:
    assert whole(response(**{WHOLE: b'{"id": 1}'}), {}) == b'{"id": 1}'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"status": "completed"}, "end_turn"),
        ({"status": "completed", "output": [CALL]}, "tool_use"),
        ({"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal"}]}]}, "refusal"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_tokens"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ({"status": "incomplete", "incomplete_details": None}, "end_turn"),
    ],
)
def test_why_it_stopped(given: dict[str, Any], expected: str) -> None:
    assert stop_reason(given) == expected


@pytest.mark.parametrize(
    ("thinking", "expected"), [(None, False), ({"type": "disabled"}, False), ({"type": "adaptive"}, True)]
)
def test_thinking_is_shown_to_those_who_asked(thinking: Any, expected: bool) -> None:
    assert shows_thinking({"thinking": thinking}) is expected


FORM = {"type": "json_schema", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("request_", "texts"),
    [
        ({}, ["Let me look.", "{}"]),
        ({"output_config": {"effort": "low"}}, ["Let me look.", "{}"]),
        ({"output_config": {"format": FORM}}, ["{}"]),
        ({"output_format": FORM}, ["{}"]),
    ],
)
def test_an_answer_in_json_has_no_other_text(request_: dict[str, Any], texts: list[str]) -> None:
    said = [("commentary", "Let me look."), ("final_answer", "{}")]
    output = [
        {"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]} for phase, text in said
    ]
    assert [block["text"] for block in json.loads(whole(response(*output), request_))["content"]] == texts
