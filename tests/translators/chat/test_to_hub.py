"""A Chat request on its way into the hub."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.to_hub import to_hub
from translators.failure import Failure

USER = {"role": "user", "content": "hi"}


def hub(**fields: Any) -> dict[str, Any]:
    return to_hub({"model": "m", "messages": [USER], **fields})[0]


def rules(**fields: Any) -> list[tuple[str, str]]:
    return [(note.rule, note.path) for note in to_hub({"model": "m", "messages": [USER], **fields})[1]]


def test_the_least_request() -> None:
    assert to_hub({"model": "m", "messages": [USER]}) == (
        {
            "model": "m",
            "stream": False,
            "store": False,
            "input": [{"type": "message", "role": "user", "content": "hi"}],
        },
        [],
    )


def test_every_field_that_the_hub_has_a_place_for() -> None:
    schema = {"name": "s", "schema": {"type": "object"}, "strict": True}
    made = hub(
        stream=True,
        max_tokens=1,
        max_completion_tokens=2,
        temperature=0,
        top_p=0.5,
        stop=["x"],
        seed=3,
        user="u",
        reasoning_effort="low",
        verbosity="low",
        response_format={"type": "json_schema", "json_schema": schema},
        parallel_tool_calls=False,
        prompt_cache_key="k",
    )
    assert made == {
        "model": "m",
        "stream": True,
        "store": False,
        "temperature": 0,
        "top_p": 0.5,
        "stop": ["x"],
        "seed": 3,
        "user": "u",
        "prompt_cache_key": "k",
        "parallel_tool_calls": False,
        "max_output_tokens": 2,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", **schema}, "verbosity": "low"},
        "input": [{"type": "message", "role": "user", "content": "hi"}],
    }
    assert hub(max_tokens=1)["max_output_tokens"] == 1
    assert hub(reasoning={"effort": "high"})["reasoning"] == {"effort": "high"}
    assert hub(response_format={"type": "json_object"})["text"] == {"format": {"type": "json_object"}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"logit_bias": {"1": 2}}, [("chat_only_field_left_out", "logit_bias")]),
        ({"something_new": 1}, [("field_left_out", "something_new")]),
        ({"logprobs": True, "top_logprobs": 2}, [("logprobs_left_out", "logprobs")]),
        ({"store": True}, [("state_stays_with_responses", "store")]),
        ({"modalities": ["text", "audio"]}, [("audio_left_out", "modalities")]),
        ({"stream_options": {"include_usage": True, "x": 1}}, [("stream_option_left_out", "stream_options.x")]),
        ({"reasoning": {"max_tokens": 1}}, [("reasoning_option_left_out", "reasoning.max_tokens")]),
        ({"reasoning": "high"}, [("field_left_out", "reasoning")]),
        ({"response_format": {"type": "grammar"}}, [("text_format_left_out", "response_format")]),
        ({"n": 1, "logprobs": False, "store": False, "modalities": ["text"], "stop": None}, []),
    ],
)
def test_what_has_no_place_is_noted(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert rules(**fields) == expected


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"model": ""}, "model"),
        ({"model": 1}, "model"),
        ({"n": 2, "tools": [{"type": "function", "function": {"name": "f"}}]}, "n"),
        ({"n": 2, "functions": [{"name": "f"}]}, "n"),
        ({"n": "2"}, "n"),
        ({"tools": [1]}, "tools[0]"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_a_request_of_the_wrong_shape_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Failure) as caught:
        hub(**fields)
    assert (caught.value.code, caught.value.status, caught.value.param) == ("invalid_request_error", 400, param)


def test_the_deprecated_functions_have_one_call_at_a_time() -> None:
    made = hub(functions=[{"name": "f", "parameters": {"type": "object"}}], function_call={"name": "f"})
    assert made["tools"] == [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}]
    assert (made["tool_choice"], made["parallel_tool_calls"]) == ({"type": "function", "name": "f"}, False)


@pytest.mark.parametrize(
    ("fields", "effort", "noted"),
    [
        ({"reasoning": {"enabled": False}}, "none", []),
        ({"reasoning": {"enabled": True, "effort": "high"}}, "high", ["reasoning.enabled"]),
        ({"thinking": {"type": "disabled"}}, "none", []),
        ({"thinking": {"type": "enabled"}}, None, ["thinking.type"]),
        ({"thinking": {"type": "disabled", "clear_thinking": False}}, "none", ["thinking.clear_thinking"]),
        ({"thinking": {"type": "disabled"}, "reasoning_effort": "low"}, "low", []),
        ({"enable_thinking": False}, "none", []),
        ({"enable_thinking": True}, None, ["enable_thinking"]),
        ({"enable_thinking": 0}, None, ["enable_thinking"]),
        ({"chat_template_kwargs": {"enable_thinking": False, "x": 1}}, "none", ["chat_template_kwargs.x"]),
        ({"thinking": True}, None, ["thinking"]),
    ],
)
def test_thinking_that_is_switched_off_in_any_hosts_words_is_no_effort(
    fields: dict[str, Any], effort: str | None, noted: list[str]
) -> None:
    hub, notes = to_hub({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields})
    assert hub.get("reasoning", {}).get("effort") == effort
    assert [note.path for note in notes] == noted
