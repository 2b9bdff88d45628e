"""The answer to a client that wants to add to a response that runs."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from openai.types.responses import ResponseSteerFailedEvent

from translators.responses.steering import steer_failed

INPUT = [{"type": "message", "role": "user", "content": "and this"}]


@pytest.mark.parametrize("given", ["and this", INPUT])
def test_it_is_the_event_of_the_official_types_and_brings_the_input_back(given: Any) -> None:
    told = steer_failed({"type": "response.steer", "previous_response_id": "resp_1", "input": given}, "lane")
    event = ResponseSteerFailedEvent.model_validate_json(told)
    assert (event.error.code, event.steer.previous_response_id, event.stream_id) == (
        "steering_not_supported", "resp_1", "lane"
    )  # fmt: skip
    assert orjson.loads(told)["steer"]["input"] == given


@pytest.mark.parametrize("odd", [{}, {"previous_response_id": 1, "input": None}])
def test_what_a_message_should_have_and_has_not_is_empty(odd: dict[str, Any]) -> None:
    event = orjson.loads(steer_failed(odd, None))
    assert event["steer"] == {"previous_response_id": "", "input": []}
    assert "stream_id" not in event


def test_half_a_character_in_the_input_breaks_nothing() -> None:
    assert orjson.loads(steer_failed({"input": "a\ud83d"}, None))["steer"]["input"] == "a\ufffd"
