"""The Chat request body: fields, tools, choices; nothing is dropped without a note, and prefixes stay stable."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.chat.from_hub import JSON_ONLY, LEFT_OUT, TOOLS_FIRST, build
from translators.dialects.base import Dialect
from translators.events import Note

PLAIN = Dialect()
TOOL = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
SENT_TOOL = {"type": "function", "function": {key: TOOL[key] for key in ("name", "description", "parameters")}}
SCHEMA = {"type": "object"}


def body_of(dialect: Dialect = PLAIN, **fields: Any) -> dict[str, Any]:
    return build({"input": "hi", **fields}, "m", dialect)[0]


def notes_of(dialect: Dialect = PLAIN, **fields: Any) -> list[Note]:
    return build({"input": "hi", **fields}, "m", dialect)[1]


def test_the_smallest_request_streams_with_usage() -> None:
    assert build({"input": "hi"}, "m", PLAIN) == (
        {
            "model": "m",
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": "hi"}],
        },
        [],
    )
    assert "stream_options" not in body_of(Dialect(stream_usage=False))


def test_keys_stand_in_a_fixed_order_with_messages_last() -> None:
    fields = {
        "input": "hi",
        "tools": [TOOL],
        "tool_choice": "auto",
        "temperature": 0,
        "max_output_tokens": 5,
        "user": "u",
    }
    orders = [list(build(dict(items), "m", PLAIN)[0]) for items in (fields.items(), reversed(fields.items()))]
    assert orders[0] == orders[1]
    assert orders[0] == [
        *("model", "stream", "stream_options", "max_tokens", "temperature", "user", "tools", "tool_choice", "messages")
    ]


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"max_output_tokens": 64}, {"max_tokens": 64}),
        ({"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        ({"frequency_penalty": 1, "presence_penalty": 2}, {"frequency_penalty": 1, "presence_penalty": 2}),
        ({"stop": ["x"], "seed": 7, "user": "u"}, {"stop": ["x"], "seed": 7, "user": "u"}),
        ({"reasoning": {"effort": "high"}}, {"reasoning_effort": "high"}),
        ({"text": {"format": {"type": "json_object"}}}, {"response_format": {"type": "json_object"}}),
        (
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "n",
                        "schema": SCHEMA,
                        "strict": True,
                        "description": None,
                    }
                }
            },
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": SCHEMA, "strict": True},
                }
            },
        ),
        ({"tools": [TOOL], "parallel_tool_calls": False}, {"parallel_tool_calls": False, "tools": [SENT_TOOL]}),
        (
            {"tools": [{**TOOL, "strict": False}]},
            {"tools": [{"type": "function", "function": {**SENT_TOOL["function"], "strict": False}}]},
        ),  # type: ignore[dict-item]
        ({"temperature": None, "tools": None, "nothing": None, "stream": True, "tools_x": None}, {}),
        ({"tools": [], "stream_options": {"include_usage": True}}, {}),
    ],
)
def test_fields_with_a_place_in_chat_are_sent_without_a_note(fields: dict[str, Any], sent: dict[str, Any]) -> None:
    body, notes = build({"input": "hi", **fields}, "m", PLAIN)
    base = body_of()
    assert {key: value for key, value in body.items() if key not in base} == sent
    assert notes == []


def test_the_dialect_names_fields_and_switches_them_off() -> None:
    fields = {
        "max_output_tokens": 1,
        "prompt_cache_key": "k",
        "reasoning": {"effort": "low"},
        "parallel_tool_calls": True,
    }
    dialect = Dialect(
        max_tokens_field="max_completion_tokens",
        cache_key_field="session_id",
        reasoning="none",
        parallel_tool_calls=False,
    )
    body, notes = build({"input": "hi", "tools": [TOOL], **fields}, "m", dialect)
    assert body == {
        **body_of(tools=[TOOL]),
        "max_completion_tokens": 1,
        "session_id": "k",
    }
    assert notes == [
        Note("reasoning_option_left_out", "reasoning.effort"),
        Note("parallel_tool_calls_left_out", "parallel_tool_calls"),
    ]


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"text": {"verbosity": "low"}}, Note("verbosity_left_out", "text.verbosity")),
        ({"text": {"format": {"type": "text"}}}, Note("default_left_out", "text.format")),
        ({"text": {"format": {"type": "grammar"}}}, Note("text_format_left_out", "text.format")),
        ({"text": {"new": 1}}, Note("text_option_left_out", "text.new")),
        ({"text": 3}, Note("field_left_out", "text")),
        ({"reasoning": {"summary": "auto"}}, Note("reasoning_option_left_out", "reasoning.summary")),
        ({"reasoning": "high"}, Note("field_left_out", "reasoning")),
        ({"top_logprobs": 3}, Note("logprobs_left_out", "top_logprobs")),
        (
            {"stream_options": {"include_obfuscation": False}},
            Note("stream_option_left_out", "stream_options.include_obfuscation"),
        ),
        ({"prompt_cache_key": "k"}, Note("prompt_cache_key_left_out", "prompt_cache_key")),
        ({"parallel_tool_calls": True}, Note("parallel_tool_calls_left_out", "parallel_tool_calls")),
        ({"tool_choice": "auto"}, Note("tool_choice_left_out", "tool_choice")),
        ({"metadata": {}}, Note("metadata_stays_here", "metadata")),
        ({"of_tomorrow": 1}, Note("field_left_out", "of_tomorrow")),
        ({"tools": [{"type": "web_search"}]}, Note("tool_left_out", "tools[0]")),
    ],
)
def test_what_has_no_place_is_left_out_with_a_note(fields: dict[str, Any], note: Note) -> None:
    assert build({"input": "hi", **fields}, "m", PLAIN) == (body_of(), [note])


KNOWN: dict[str, Any] = {
    "model": "client-name",
    "input": "hi",
    "instructions": "be brief",
    "max_output_tokens": 1,
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 1,
    "presence_penalty": 1,
    "stop": "x",
    "seed": 1,
    "user": "u",
    "reasoning": {"effort": "low", "summary": "auto", "context": "auto"},
    "text": {"format": {"type": "json_object"}, "verbosity": "low"},
    "tools": [TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": True,
    "prompt_cache_key": "k",
    "stream": True,
    "stream_options": {"include_obfuscation": True},
    **dict.fromkeys(LEFT_OUT, "v"),
}
PLACES = {
    "input": "messages",
    "instructions": "messages",
    "max_output_tokens": "max_tokens",
    "reasoning": "reasoning_effort",
    "text": "response_format",
}


def test_every_field_is_in_the_body_or_in_a_note() -> None:
    unknown = {"made_up": 1, "max_tokens": 5, "n": 2, "logit_bias": {}}
    body, notes = build({**KNOWN, **unknown}, "m", PLAIN)
    noted = {note.path.partition(".")[0] for note in notes}
    for name in (*KNOWN, *unknown):
        assert (PLACES.get(name, name) in body) or name in noted, name
    assert {(note.rule, note.path) for note in notes} == {
        *((rule, name) for name, rule in LEFT_OUT.items()),
        *(("field_left_out", name) for name in unknown),
        ("prompt_cache_key_left_out", "prompt_cache_key"),
        ("reasoning_option_left_out", "reasoning.summary"),
        ("reasoning_option_left_out", "reasoning.context"),
        ("verbosity_left_out", "text.verbosity"),
        ("stream_option_left_out", "stream_options.include_obfuscation"),
    }
    assert body["max_tokens"] == 1


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
        ({"type": "custom", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
        ({"type": "web_search_preview"}, None),
        ("any", None),
        (3, None),
    ],
)
def test_tool_choice_is_nested_for_chat(choice: Any, sent: Any) -> None:
    body, notes = build({"input": "hi", "tools": [TOOL], "tool_choice": choice}, "m", PLAIN)
    assert body.get("tool_choice") == sent
    assert notes == ([] if sent else [Note("tool_choice_left_out", "tool_choice")])


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_sends_only_those_and_the_mode(mode: str) -> None:
    choice = {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": "f"}]}
    tools = [{**TOOL, "name": "g"}, TOOL]
    body, notes = build({"input": "hi", "tools": tools, "tool_choice": choice}, "m", PLAIN)
    assert (body["tools"], body["tool_choice"]) == ([SENT_TOOL], mode)
    assert notes == [Note("tools_narrowed_to_allowed", "tools")]


def test_allowed_tools_without_a_match_sends_no_tools_at_all() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"name": "x"}, {"name": []}, 3]}
    assert body_of(tools=[TOOL], tool_choice=choice) == body_of()


@pytest.mark.parametrize("parameters", [None, {}, "x"])
def test_a_tool_without_parameters_gets_an_empty_object_schema(parameters: Any) -> None:
    (tool,) = body_of(tools=[{"type": "function", "name": "f", "parameters": parameters, "defer_loading": True}])[
        "tools"
    ]
    assert tool["function"] == {"name": "f", "parameters": {"type": "object", "properties": {}}}


def test_extra_tool_fields_are_noted_once() -> None:
    tool = {**TOOL, "defer_loading": True}
    assert notes_of(tools=[tool, tool]) == [Note("tool_field_left_out", "tools[].defer_loading")]


def test_lone_surrogates_are_replaced_everywhere() -> None:
    bad = "x\ud83d"
    body, _ = build(
        {"input": bad, "instructions": bad, "user": bad, "tools": [{**TOOL, "description": bad}]}, "m", PLAIN
    )
    assert bad not in str(body)
    assert orjson.dumps(body).count("x\ufffd".encode()) == 4


def call(identity: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": identity, "name": "f", "arguments": "{}"}


def said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def output(identity: str, value: Any = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": value}


IMAGE = [{"type": "input_text", "text": "shot"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
TURNS: list[list[dict[str, Any]]] = [
    [said("user", "hi")],
    [said("developer", "note"), said("user", "go")],
    [said("assistant", "done"), said("user", "thanks")],
    [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}, call("a"), output("a")],
    [said("assistant", "plan"), call("a"), call("b"), output("b", IMAGE), output("a")],
    [call("a"), said("developer", "moved"), output("a", "")],
    [output("orphan"), {"type": "web_search_call", "id": "ws"}],
]
HISTORIES = st.lists(st.sampled_from(TURNS), min_size=1, max_size=6)


@given(HISTORIES, HISTORIES)
def test_a_longer_history_begins_with_the_bytes_of_the_shorter(old: list[Any], new: list[Any]) -> None:
    fixed = {"instructions": "base", "tools": [TOOL], "tool_choice": "auto"}
    start = [said("developer", "rules"), said("user", "hi")]
    before = start + [item for turn in old for item in turn]
    after = before + [item for turn in new for item in turn]
    short, long = (orjson.dumps(build({**fixed, "input": items}, "m", PLAIN)[0]) for items in (before, after))
    assert short.endswith(b"]}")
    assert long.startswith(short[:-2])


TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "auto", "user", "x\ud83d"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(KNOWN)), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(KNOWN)), TREES))
def test_a_request_of_any_shape_gives_a_body_that_serialises(fields: dict[str, Any]) -> None:
    orjson.dumps(build(fields, "m", PLAIN)[0])


@pytest.mark.parametrize(
    ("style", "effort", "sent"),
    [
        ("effort", "low", {"reasoning_effort": "low"}),
        ("object", "low", {"reasoning": {"effort": "low"}}),
        ("thinking", "low", {"thinking": {"type": "enabled"}}),
        ("thinking", "none", {"thinking": {"type": "disabled"}}),
        ("thinking_effort", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("thinking_effort", "none", {"thinking": {"type": "disabled"}}),
        ("enable_thinking", "none", {"enable_thinking": False}),
        ("none", "low", {}),
    ],
)
def test_an_effort_is_asked_for_in_the_hosts_own_way(style: Any, effort: str, sent: dict[str, Any]) -> None:
    body, _ = build({"reasoning": {"effort": effort}}, "m", Dialect(reasoning=style, stream_usage=False))
    assert body == {"model": "m", "stream": True, **sent, "messages": []}


def test_thinking_that_cannot_be_switched_off_stays_on() -> None:
    body, _ = build({"reasoning": {"effort": "none"}}, "m", Dialect(reasoning="thinking", thinking_off=False))
    assert body["thinking"] == {"type": "enabled"}


def test_fields_that_every_body_of_a_host_carries() -> None:
    assert list(build({}, "m", Dialect(extra={"reasoning_split": True}))[0])[2] == "reasoning_split"


FORM = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("dialect", "asked", "tools", "sent", "told"),
    [
        (Dialect(), FORM, [TOOL], "json_schema", ""),
        (Dialect(json_schema=False), FORM, [TOOL], "json_object", '{"type":"object"}'),
        (Dialect(json_schema=False), {"type": "json_object"}, [], "json_object", ""),
        (Dialect(json_beside_tools=False), FORM, [TOOL], None, TOOLS_FIRST + JSON_ONLY),
        (Dialect(json_beside_tools=False), FORM, [], "json_schema", ""),
        (Dialect(json_format=False, json_schema=False), {"type": "json_object"}, [], None, JSON_ONLY),
        (Dialect(json_format=False, json_schema=False), FORM, [], None, '{"type":"object"}'),
        (Dialect(json_format=False, json_schema=False), {"type": "text"}, [], None, ""),
    ],
)
def test_a_format_that_is_not_taken_is_asked_for_in_words(
    dialect: Dialect, asked: dict[str, Any], tools: list[Any], sent: str | None, told: str
) -> None:
    body, notes = build({"input": "hi", "tools": tools, "text": {"format": asked}}, "m", dialect)
    assert body.get("response_format", {}).get("type") == sent
    first = body["messages"][0]
    assert told in first["content"] if told else first["role"] == "user"
    assert bool(told) == ("json_schema_told_in_words" in [note.rule for note in notes])
