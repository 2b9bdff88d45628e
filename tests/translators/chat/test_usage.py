"""Token counts of Chat upstreams in Responses shape."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.usage import to_hub


def hub(
    tokens_in: int, tokens_out: int, total: int, cached: int = 0, reasoning: int = 0, **stored: int
) -> dict[str, Any]:
    return {
        "input_tokens": tokens_in,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0, **stored},
        "output_tokens": tokens_out,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": total,
    }


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, hub(10, 5, 15)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 80},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            hub(100, 50, 150, 80, 30),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5}},
            hub(10, 0, 10, 4, cache_write_tokens=5),
        ),
        (
            {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 7}},
            hub(10, 0, 10, 4, cache_write_tokens=6),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cache_creation_tokens": 5}},
            hub(10, 0, 10, cache_write_tokens=5),
        ),
        ({"prompt_tokens": 10, "cache_creation_input_tokens": 5}, hub(10, 0, 10, cache_write_tokens=5)),
        ({"prompt_tokens": 10.0, "completion_tokens": "5"}, hub(10, 5, 15)),
        ({"prompt_tokens": 10}, hub(10, 0, 10)),
        ({"completion_tokens": 5, "prompt_tokens": None, "total_tokens": None}, hub(0, 5, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}, hub(10, 5, 15, 4)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, hub(10, 5, 15, 4)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 12}}, hub(10, 0, 10, 10)),
        ({"prompt_tokens": 10, "prompt_tokens_details": None, "completion_tokens_details": []}, hub(10, 0, 10)),
        ({"input_tokens": 3, "output_tokens": 2}, hub(3, 2, 5)),
        ({"prompt_tokens": -1, "completion_tokens": True}, None),
        ({"prompt_tokens": "many", "completion_tokens": "nan"}, None),
        ({"prompt_tokens": 1e300}, None),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_counts_become_integers_in_responses_shape(usage: object, expected: object) -> None:
    assert to_hub(usage) == expected
