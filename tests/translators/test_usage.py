"""Token counts: integers with a total, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ResponseUsage

from translators.usage import count, responses_usage, usage_of


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3), (0, 0), (3.0, 3), ("3", 3), ("3.0", 3), (-1, None), (True, None), (None, None), ("many", None),
        (float("nan"), None), (float("inf"), None), ("1e400", None), (1e30, None), (10**400, None), ([], None),
    ],
)  # fmt: skip
def test_a_count_is_an_integer_or_none(value: object, expected: int | None) -> None:
    assert count(value) == expected


FULL = usage_of(12, 7, cached=4, written=3, reasoning=2, total=19)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ([], None),
        ({}, None),
        ({"input_tokens": None, "output_tokens": "?"}, None),
        ({"input_tokens": 5}, usage_of(5, 0)),
        ({"input_tokens": 5, "input_tokens_details": {"cache_write_tokens": "2"}}, usage_of(5, 0, written=2)),
        ({"output_tokens": 2.0}, usage_of(0, 2)),
        ({"input_tokens": 35, "output_tokens": 3, "total_tokens": 40}, usage_of(35, 3, total=40)),
        ({**FULL, "input_tokens_details": None}, usage_of(12, 7, reasoning=2)),
        ({**FULL, "extra": 1}, FULL),
        ({key: float(value) if isinstance(value, int) else value for key, value in FULL.items()}, FULL),
    ],
)
def test_usage_is_whole_or_absent(given: object, expected: object) -> None:
    assert responses_usage(given) == expected


@pytest.mark.parametrize("usage", [FULL, usage_of(1, 1), responses_usage({"output_tokens": 1})])
def test_a_strict_client_finds_every_count_that_openais_types_require(usage: dict[str, Any]) -> None:
    assert ResponseUsage.model_validate(usage).input_tokens_details.cache_write_tokens in (0, 3)


def test_a_missing_total_is_the_sum() -> None:
    assert usage_of(3, 4)["total_tokens"] == 7
