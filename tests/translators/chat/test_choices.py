"""A whole answer whose one choice came as several."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.choices import as_one_choice

CALL: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def answer(*messages: dict[str, Any], reason: Any = "tool_calls") -> dict[str, Any]:
    return {"choices": [{"finish_reason": reason, "message": message} for message in messages], "usage": {"x": 1}}


def test_text_and_calls_of_two_choices_are_one_message() -> None:
    text, calls = (
        {"role": "assistant", "content": "I look."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
    )
    one = as_one_choice(answer(text, calls, {"content": "So.", "tool_calls": [CALL]}))
    assert one == {
        "choices": [
            {
                "finish_reason": "tool_calls",
                "index": 0,
                "message": {"role": "assistant", "content": "I look.\n\nSo.", "tool_calls": [CALL, CALL]},
            }
        ],
        "usage": {"x": 1},
    }


@pytest.mark.parametrize(
    "given",
    [None, [], {}, {"choices": None}, answer({"content": "a"}), {"choices": [{"message": {}}, {"delta": {}}]}],
)
def test_anything_else_stays_as_it_is(given: Any) -> None:
    assert as_one_choice(given) is given


def test_a_reason_that_is_no_word_is_no_fault_of_the_proxy() -> None:
    assert as_one_choice(answer({"content": "a"}, {}, reason=[1]))["choices"][0]["finish_reason"] == [1]
