"""Token counts both ways: nothing counted twice, nothing negative."""

from __future__ import annotations

from typing import Any

import pytest

from translators.messages.usage import from_hub, to_hub
from translators.usage import usage_of


def test_cached_tokens_are_a_part_in_the_hub_and_apart_in_messages() -> None:
    given = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 80,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
    }
    hub = to_hub(given)
    assert hub == {
        "input_tokens": 95,
        "input_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 102,
    }
    assert from_hub(hub) == {name: value for name, value in given.items() if name != "output_tokens_details"}


@pytest.mark.parametrize("given", [{}, {"input_tokens": None}, {"input_tokens": "many"}, {"input_tokens": -1}])
def test_usage_that_says_nothing_is_none(given: dict[str, Any]) -> None:
    assert to_hub(given) is None


def test_more_cached_than_there_was_is_never_negative() -> None:
    made = from_hub(usage_of(100, 5, cached=180))
    assert (made["input_tokens"], made["cache_read_input_tokens"]) == (0, 100)
    assert from_hub(None)["output_tokens"] == 0
