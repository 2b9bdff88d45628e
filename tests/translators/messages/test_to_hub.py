"""A Messages request on its way into the hub."""

from __future__ import annotations

from typing import Any

import pytest

from translators.failure import Failure
from translators.messages.to_hub import to_hub

USER = {"role": "user", "content": "hi"}
ENCRYPTED = {"include": ["reasoning.encrypted_content"]}


def hub(**fields: Any) -> dict[str, Any]:
    return to_hub({"model": "m", "max_tokens": 9, "messages": [USER], **fields})[0]


def rules(**fields: Any) -> list[tuple[str, str]]:
    return [(note.rule, note.path) for note in to_hub({"model": "m", "messages": [USER], **fields})[1]]


def test_every_field_that_the_hub_has_a_place_for() -> None:
    assert hub(
        stream=True,
        system=[{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}],
        temperature=0.5,
        top_k=3,
        stop_sequences=["x"],
        tools=[{"name": "f", "input_schema": {"type": "object"}}],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}},
    ) == {
        "model": "m",
        "stream": True,
        "store": False,
        "temperature": 0.5,
        "top_k": 3,
        "stop": ["x"],
        "max_output_tokens": 9,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}},
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "instructions": "Be\n\nbrief.",
        "input": [{"type": "message", "role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"thinking": {"type": "disabled"}}, {"reasoning": {"effort": "none"}}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"reasoning": {"effort": "low", "summary": "auto"}, **ENCRYPTED},
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 10_000}},
            {"reasoning": {"effort": "medium", "summary": "auto"}, **ENCRYPTED},
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 31_999}},
            {"reasoning": {"effort": "high", "summary": "auto"}, **ENCRYPTED},
        ),
        ({"thinking": {"type": "adaptive"}}, {"reasoning": {"summary": "auto"}, **ENCRYPTED}),
        (
            {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "xhigh"}},
            {"reasoning": {"effort": "xhigh"}, **ENCRYPTED},
        ),
        ({"output_config": {"effort": "low"}}, {"reasoning": {"effort": "low"}}),
    ],
)
def test_thinking_is_an_effort_and_a_summary(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    made = hub(**fields)
    assert {name: made[name] for name in ("reasoning", "include") if name in made} == expected


def test_the_format_of_an_answer_may_stand_where_sdks_of_2025_put_it() -> None:
    form = {"type": "json_schema", "schema": {"type": "object"}}
    expected = {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}}
    assert hub(output_format=form)["text"] == hub(output_config={"format": form})["text"] == expected
    assert rules(output_format=form) == []


def test_who_the_user_is_stays_here_but_one_session_has_one_cache() -> None:
    first, second = hub(metadata={"user_id": "u"}), hub(metadata={"user_id": "v"})
    assert first["prompt_cache_key"] != second["prompt_cache_key"]
    assert first["prompt_cache_key"] == hub(metadata={"user_id": "u"})["prompt_cache_key"]
    assert "u" not in (first.get("user"), first.get("safety_identifier"))
    assert rules(metadata={"user_id": "u"}) == [("metadata_stays_here", "metadata")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"context_management": {}}, [("context_management_left_out", "context_management")]),
        ({"mcp_servers": [{}]}, [("hosted_tool_left_out", "mcp_servers")]),
        ({"cache_control": {}}, [("cache_control_left_out", "cache_control")]),
        ({"thread": {"type": "create"}}, [("thread_left_out", "thread")]),
        ({"something_new": 1}, [("field_left_out", "something_new")]),
        ({"output_config": {"novel": 1}}, [("field_left_out", "output_config.novel")]),
        ({"thinking": {"type": "adaptive", "novel": 1}}, [("field_left_out", "thinking.novel")]),
        (
            {"system": [{"type": "text", "text": "x-anthropic-billing-header: cc=1;"}, {"type": "image"}]},
            [("billing_header_left_out", "system[0]"), ("content_part_left_out", "system[1]")],
        ),
    ],
)
def test_what_has_no_place_is_noted(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert rules(**fields) == expected


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [1]}, "messages[0]"),
        ({"tools": ["f"]}, "tools[0]"),
        ({"model": ""}, "model"),
        ({"thinking": "on"}, "thinking"),
        ({"max_tokens": "9"}, "max_tokens"),
    ],
)
def test_a_request_of_the_wrong_shape_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Failure) as caught:
        hub(**fields)
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", param)


def test_a_thread_is_begun_as_any_conversation_and_its_next_turn_has_to_bring_the_whole() -> None:
    assert hub(thread={"type": "create"}) == hub()
    with pytest.raises(Failure) as caught:
        hub(thread={"type": "continue", "previous_message_id": "msg_1"})
    assert (caught.value.code, caught.value.status, caught.value.param) == ("thread_not_found", 404, "thread")
