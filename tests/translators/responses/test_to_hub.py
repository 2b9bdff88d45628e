"""The shape of a Responses request."""

from __future__ import annotations

from typing import Any

import pytest

from translators.failure import Failure
from translators.responses.to_hub import FIELDS, validate

GOOD: dict[str, Any] = {"model": "m", "input": "hi"}


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        {"input": []},
        {"input": [{"type": "message", "role": "user", "content": "hi"}], "tools": [], "stream": True},
        {"model": "m", "previous_response_id": "resp_1"},
        {"model": "m", "prompt": {"id": "p"}},
        {**GOOD, "background": False, "conversation": None, "tool_choice": {"type": "function", "name": "f"}},
        {**GOOD, "an_unknown_field": {"a": 1}},
        {**dict.fromkeys(FIELDS), "input": "hi"},
    ],
)
def test_a_request_of_the_right_shape_passes_unchanged(body: dict[str, Any]) -> None:
    before = dict(body)
    validate(body)
    assert body == before


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"model": 1}, "invalid_request_error", "model"),
        ({"model": ""}, "invalid_request_error", "model"),
        ({"stream": 1}, "invalid_request_error", "stream"),
        ({"input": {"SECRET": 1}}, "invalid_request_error", "input"),
        ({"input": None}, "invalid_request_error", "input"),
        ({"input": [{}, "SECRET"]}, "invalid_request_error", "input[1]"),
        ({"input": [{"type": ["SECRET"]}]}, "invalid_request_error", "input[0].type"),
        ({"input": [{"type": "SECRET", "call_id": {"SECRET": 1}}]}, "invalid_request_error", "input[0].call_id"),
        ({"instructions": ["SECRET"]}, "invalid_request_error", "instructions[0]"),
        ({"instructions": [{"type": {}}]}, "invalid_request_error", "instructions[0].type"),
        ({"max_output_tokens": "SECRET"}, "invalid_request_error", "max_output_tokens"),
        ({"max_tool_calls": "1"}, "invalid_request_error", "max_tool_calls"),
        ({"max_tool_calls": True}, "invalid_request_error", "max_tool_calls"),
        ({"generate": "SECRET"}, "invalid_request_error", "generate"),
        ({"tools": {}}, "invalid_request_error", "tools"),
        ({"tools": [None]}, "invalid_request_error", "tools[0]"),
        ({"tool_choice": ["SECRET"]}, "invalid_request_error", "tool_choice"),
        ({"previous_response_id": 5}, "invalid_request_error", "previous_response_id"),
        ({"background": "SECRET"}, "invalid_request_error", "background"),
        ({"conversation": ["SECRET"]}, "invalid_request_error", "conversation"),
        ({"conversation_id": {"SECRET": 1}}, "invalid_request_error", "conversation_id"),
        ({"context_management": {"SECRET": 1}}, "invalid_request_error", "context_management"),
        ({"context_management": ["SECRET"]}, "invalid_request_error", "context_management[0]"),
        ({"context_management": [{"type": "SECRET"}]}, "invalid_request_error", "context_management[0].type"),
        ({"context_management": [{"type": "compaction", "compact_threshold": "SECRET"}]}, "invalid_request_error",
         "context_management[0].compact_threshold"),
        ({"context_management": [{"type": "compaction", "compact_threshold": 0}]}, "invalid_request_error",
         "context_management[0].compact_threshold"),
        ({"input": [{"type": "compaction_trigger"}, {"role": "user", "content": "SECRET"}]}, "invalid_request_error",
         "input[0]"),
    ],
)
def test_a_wrong_field_is_named_and_not_quoted(change: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(Failure) as caught:
        validate({**GOOD, **change})
    assert (caught.value.code, caught.value.status, caught.value.param) == (code, 400, param)
    assert "SECRET" not in caught.value.message
    assert param.partition("[")[0] in caught.value.message.lower()
