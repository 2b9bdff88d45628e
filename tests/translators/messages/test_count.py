"""The estimate of a request's input tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from translators.failure import Failure
from translators.messages.count import count_tokens


def test_everything_that_a_model_sees_counts() -> None:
    user = {"role": "user", "content": "word " * 400}
    base = count_tokens({"messages": [user]})
    assert 400 <= base <= 600
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "word " * 400}]}
    tool = {"name": "f", "description": "more " * 100, "input_schema": {"type": "object"}}
    assert count_tokens({"messages": [user, result]}) >= 2 * base - 30
    assert count_tokens({"messages": [user], "system": "more " * 100}) >= base + 100
    assert count_tokens({"messages": [user], "tools": [tool]}) >= base + 100


def test_a_request_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(Failure):
        count_tokens({"messages": "hi"})


RECORDED = json.loads((Path(__file__).parents[2] / "cassettes" / "messages" / "counts.json").read_text())
"""Counted by llama.cpp's own count_tokens with these models; nothing was fitted to them."""
WEATHER = {
    "name": "get_weather",
    "description": "Get the current weather in a given location",
    "input_schema": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}},
        "required": ["location"],
    },
}
PRIMES = [
    {"role": "user", "content": "Are there an infinite number of prime numbers such that n mod 4 == 3?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "This is a nice number theory question. " * 9, "signature": "EuYBCkQ"},
            {"type": "text", "text": "Yes, there are infinitely many prime numbers p such that p mod 4 = 3..."},
        ],
    },
    {"role": "user", "content": "Can you write a formal proof?"},
]
PUBLISHED: list[tuple[dict[str, Any], int]] = [
    ({"messages": [{"role": "user", "content": "What's the weather like in San Francisco?"}], "tools": [WEATHER]}, 403),
    (
        {
            "system": "You are a scientist",
            "messages": [{"role": "user", "content": "Hello, Claude"}],
        },
        14,
    ),
    ({"messages": PRIMES, "thinking": {"type": "enabled", "budget_tokens": 16_000}}, 88),
]
"""Examples of Anthropic's documentation with the counts that it gives; the last two are those that fitted constants."""


@pytest.mark.parametrize(
    ("model", "row"), [(model, row) for row in RECORDED for model in row["counted"]], ids=lambda value: str(value)[:20]
)
def test_the_estimate_is_within_15_percent_of_what_servers_counted(model: str, row: Any) -> None:
    counted = row["counted"][model]
    assert abs(count_tokens(row["body"], model) - counted) <= 0.15 * counted


@pytest.mark.parametrize(("body", "counted"), PUBLISHED)
def test_the_estimate_is_within_15_percent_of_what_anthropic_published(body: dict[str, Any], counted: int) -> None:
    assert abs(count_tokens(body, "claude-opus-5") - counted) <= 0.15 * counted
    assert count_tokens({**body, "model": "claude-opus-5"}) == count_tokens(body, "claude-opus-5")


def test_a_family_that_names_itself_is_counted_so() -> None:
    hello: dict[str, Any] = {"messages": [{"role": "user", "content": "Say hello in three words."}]}
    assert count_tokens(hello, "Qwen2.5-Coder-0.5B") == 35, "recorded from llama.cpp"
    assert count_tokens(hello, "kimi-k3") == 14
    named = {**hello, "system": "Be brief."}
    assert count_tokens(named, "qwen2.5-coder") == count_tokens(named, "kimi-k3")


def test_a_picture_counts_by_its_size_and_a_file_as_a_large_one() -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    source = {"type": "base64", "media_type": "image/png", "data": dot}

    def of(*blocks: Any) -> int:
        return count_tokens({"messages": [{"role": "user", "content": list(blocks)}]})

    text = {"type": "text", "text": "hi"}
    assert of(text, {"type": "image", "source": source}) == of(text) + 1
    assert of(text, {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}) == of(text) + 1024
