"""Usage: the token counts of a Chat Completions upstream in the shape of the Responses API."""

from __future__ import annotations

import math

from translators.events import Json
from translators.usage import usage_of

LIMIT = 2**53
"""Counts from here on are no counts, and JSON readers would round them."""


def to_hub(usage: object) -> Json | None:
    """A Chat ``usage`` object as Responses usage with integers only; None when it holds neither side's count.

    Hosts write counts as floats or strings, leave ``total_tokens`` out, or put cached tokens beside the details
    (``cached_tokens``: Moonshot; ``prompt_cache_hit_tokens``: DeepSeek); gateways in front of Claude name written ones
    as Anthropic does. Cached, written and reasoning tokens are parts of the input and the output, so they never exceed
    them.
    """
    if not isinstance(usage, dict):
        return None
    given_input = _first(usage.get("prompt_tokens"), usage.get("input_tokens"))
    given_output = _first(usage.get("completion_tokens"), usage.get("output_tokens"))
    if given_input is None and given_output is None:
        return None
    tokens_in, tokens_out = given_input or 0, given_output or 0
    cached = _first(
        _detail(usage, "prompt_tokens_details", "cached_tokens"),
        _detail(usage, "input_tokens_details", "cached_tokens"),
        usage.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
    )
    written = _first(
        _detail(usage, "prompt_tokens_details", "cache_write_tokens"),
        _detail(usage, "input_tokens_details", "cache_write_tokens"),
        _detail(usage, "prompt_tokens_details", "cache_creation_tokens"),
        usage.get("cache_creation_input_tokens"),
    )
    reasoning = _first(
        _detail(usage, "completion_tokens_details", "reasoning_tokens"),
        _detail(usage, "output_tokens_details", "reasoning_tokens"),
        usage.get("reasoning_tokens"),
    )
    read = min(cached or 0, tokens_in)
    return usage_of(
        tokens_in,
        tokens_out,
        cached=read,
        written=min(written or 0, tokens_in - read),
        reasoning=min(reasoning or 0, tokens_out),
        total=_first(usage.get("total_tokens")),
    )


def _detail(usage: Json, group: str, name: str) -> object:
    details = usage.get(group)
    return details.get(name) if isinstance(details, dict) else None


def _first(*values: object) -> int | None:
    """The first value that is a count, as an integer."""
    for value in values:
        if value is None:
            continue
        number = value if type(value) is int and 0 <= value < LIMIT else _count(value)
        if number is not None:
            return number
    return None


def _count(value: object) -> int | None:
    if isinstance(value, str):
        try:
            value = float(value) if len(value) <= 32 else None
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if 0 <= value < LIMIT else None
