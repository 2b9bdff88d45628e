"""A hub request as a Messages body. Its messages are tested in test_turns.py."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from translators.dialects.base import Dialect
from translators.messages.from_hub import build

USER = {"type": "message", "role": "user", "content": "hi"}
FUNCTION = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False}
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
MARK = {"cache_control": {"type": "ephemeral"}}
BUDGET, ADAPTIVE = Dialect(thinking_on="enabled"), Dialect(thinking_on="adaptive")


def built(dialect: Dialect = BUDGET, **fields: Any) -> dict[str, Any]:
    body = build({"input": [USER], **fields}, "m", dialect)[0]
    assert list(body)[-1] == "messages"
    return body


def rules(dialect: Dialect = BUDGET, **fields: Any) -> list[tuple[str, str]]:
    return [(note.rule, note.path) for note in build({"input": [USER], **fields}, "m", dialect)[1]]


def test_everything_that_this_api_has_a_place_for() -> None:
    assert built(
        Dialect(extra={"cache_control": {"type": "ephemeral"}}),
        instructions="Be brief.",
        max_output_tokens=99,
        temperature=0.5,
        top_k=3,
        stop=["x"],
        tools=[FUNCTION, {"type": "function", "name": "g"}],
        tool_choice="required",
        parallel_tool_calls=False,
        text={"format": {"type": "json_schema", "name": "n", "schema": CLOSED}},
    ) == {
        "model": "m",
        "max_tokens": 99,
        "stream": True,
        **MARK,
        "temperature": 0.5,
        "top_k": 3,
        "stop_sequences": ["x"],
        "output_config": {"format": {"type": "json_schema", "schema": CLOSED}},
        "tools": [
            {"name": "f", "description": "d", "input_schema": {"type": "object"}},
            {"name": "g", "input_schema": {"type": "object", "properties": {}}, **MARK},
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "system": [{"type": "text", "text": "Be brief.", **MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


@pytest.mark.parametrize(("dialect", "expected"), [(Dialect(), 32_000), (Dialect(max_tokens_limit=8192), 8192)])
def test_a_limit_is_required_and_filled_in(dialect: Dialect, expected: int) -> None:
    assert built(dialect)["max_tokens"] == expected


@pytest.mark.parametrize(
    ("dialect", "reasoning", "expected"),
    [
        (BUDGET, {"effort": "low"}, {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (BUDGET, {"effort": "max"}, {"thinking": {"type": "enabled", "budget_tokens": 31_999}}),
        (BUDGET, {"effort": "none"}, {"thinking": {"type": "disabled"}}),
        (BUDGET, {"summary": "auto"}, {}),
        (ADAPTIVE, {"summary": "auto"}, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        (ADAPTIVE, {}, {}),
        (ADAPTIVE, {"effort": "minimal"}, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (
            ADAPTIVE,
            {"effort": "high", "summary": "auto"},
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
    ],
)
def test_an_effort_is_thinking(dialect: Dialect, reasoning: Any, expected: dict[str, Any]) -> None:
    made = built(dialect, reasoning=reasoning)
    assert {name: made[name] for name in ("thinking", "output_config") if name in made} == expected


@pytest.mark.parametrize("asked", [{"temperature": 0.2}, {"top_p": 0.9}, {"tool_choice": "required"}])
def test_thoughts_that_are_only_to_be_shown_give_way_to_what_excludes_them(asked: dict[str, Any]) -> None:
    made = built(ADAPTIVE, reasoning={"summary": "auto"}, tools=[FUNCTION], **asked)
    assert "thinking" not in made
    assert made == built(ADAPTIVE, tools=[FUNCTION], **asked)


def test_a_budget_stays_below_the_limit_or_is_left_out() -> None:
    assert built(reasoning={"effort": "high"}, max_output_tokens=2000)["thinking"]["budget_tokens"] == 1999
    limited = Dialect(thinking_on="enabled", thinking_limit=8192)
    assert built(limited, reasoning={"effort": "high"})["thinking"]["budget_tokens"] == 8192
    assert built(limited, reasoning={"effort": "low"}) == built(reasoning={"effort": "low"})
    assert "thinking" not in built(reasoning={"effort": "high"}, max_output_tokens=1000)
    assert rules(reasoning={"effort": "high"}, max_output_tokens=1000) == [("thinking_left_out", "reasoning.effort")]


def test_in_a_tool_loop_without_its_thoughts_such_a_model_does_not_think() -> None:
    loop = [
        USER,
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
    ]
    assert "thinking" not in built(input=loop, reasoning={"effort": "low"})
    assert "thinking" in built(ADAPTIVE, input=loop, reasoning={"effort": "low"})
    sealed = {"type": "reasoning", "encrypted_content": '{"type":"thinking","thinking":"t","signature":"s"}'}
    assert "thinking" in built(input=[USER, sealed, *loop[1:]], reasoning={"effort": "low"})


def test_a_tool_loop_that_began_with_a_thought_goes_on_as_it_began() -> None:
    """Behind a result these models often call again without a thought; then a request without thinking is refused, and
    every change of it costs the cache."""
    sealed = {"type": "reasoning", "encrypted_content": '{"type":"thinking","thinking":"t","signature":"s"}'}
    first, second = (
        [
            {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": name, "output": "x"},
        ]
        for name in ("a", "b")
    )
    assert "thinking" in built(input=[USER, sealed, *first, *second], reasoning={"effort": "low"})
    assert "thinking" not in built(input=[USER, *first, sealed, *second], reasoning={"effort": "low"})


@pytest.mark.parametrize("reasoning", [{"effort": "low"}, {"summary": "auto"}, None])
def test_where_every_thought_is_wanted_back_and_one_is_missing_thinking_is_off(reasoning: Any) -> None:
    """DeepSeek's endpoint thinks unless it is told not to, and then misses the thoughts of every message of the
    assistant (openclaw/openclaw#71998)."""
    strict = Dialect(thoughts_required=True)
    sealed = {"type": "reasoning", "encrypted_content": '{"type":"thinking","thinking":"t","signature":"s"}'}
    said = {"type": "message", "role": "assistant", "content": "a"}
    assert built(strict, input=[USER, said, USER], reasoning=reasoning)["thinking"] == {"type": "disabled"}
    for items in ([USER, sealed, said, USER], [USER]):
        assert built(strict, input=items, reasoning=reasoning).get("thinking") != {"type": "disabled"}


def test_beside_thinking_nothing_is_forced_and_sampling_is_fixed() -> None:
    made = built(
        reasoning={"effort": "low"},
        temperature=0,
        tools=[FUNCTION],
        tool_choice={"type": "function", "name": "f"},
    )
    assert made["tool_choice"] == {"type": "auto"}
    assert "temperature" not in made


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ({"type": "function", "name": "f"}, {"type": "tool", "name": "f"}),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"name": "f"}]}, {"type": "any"}),
    ],
)
def test_the_choice_has_this_apis_words(choice: Any, expected: dict[str, Any]) -> None:
    assert built(tools=[FUNCTION], tool_choice=choice)["tool_choice"] == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"store": True}, [("state_stays_here", "store")]),
        ({"seed": 1}, [("field_left_out", "seed")]),
        ({"metadata": {"a": "b"}}, [("metadata_stays_here", "metadata")]),
        ({"text": {"verbosity": "low"}}, [("verbosity_left_out", "text.verbosity")]),
        ({"text": {"format": {"type": "json_object"}}}, [("json_schema_told_in_words", "text.format")]),
        ({"tool_choice": "required"}, [("tool_choice_left_out", "tool_choice")]),
        ({"tools": [{"type": "web_search"}]}, [("tool_left_out", "tools[0]")]),
        ({"reasoning": {"context": "all_turns"}}, [("reasoning_option_left_out", "reasoning.context")]),
    ],
)
def test_what_has_no_place_is_noted(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert rules(**fields) == expected


@pytest.mark.parametrize(("known", "schema"), [(False, CLOSED), (True, {"type": "object"})])
def test_a_schema_that_the_model_cannot_be_held_to_is_told(known: bool, schema: dict[str, Any]) -> None:
    format_ = {"type": "json_schema", "name": "n", "schema": schema}
    made = built(Dialect(json_schema=known), text={"format": format_})
    assert orjson.dumps(schema).decode() in made["system"][-1]["text"]
    assert "output_config" not in made


def test_the_schema_of_an_answer_is_one_that_this_api_takes() -> None:
    given = {"type": "object", "properties": {"a": {"type": "string"}}}
    asked = {"text": {"format": {"type": "json_schema", "name": "n", "schema": given}}}
    assert built(**asked)["output_config"]["format"]["schema"] == CLOSED
    assert ("schema_adapted", "text.format.schema") in rules(**asked)


def test_half_a_character_in_a_tool_does_not_break_the_body() -> None:
    assert built(tools=[{**FUNCTION, "description": "a\ud83d"}])["tools"][0]["name"] == "f"


def test_texts_without_a_word_are_left_out() -> None:
    items = [{"role": "developer", "content": "\n"}, {"role": "user", "content": " "}, USER]
    body = built(input=items, instructions=" ")
    assert "system" not in body
    assert body["messages"] == built(input=[USER])["messages"]
