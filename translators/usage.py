"""Token usage in the shape of the Responses API: integers with a total, or nothing.

Codex counts a response whose usage has floats or lacks ``total_tokens`` as a broken stream (measured, 0.171.0).
"""

from __future__ import annotations

from typing import Any

from translators.events import Json

_LIMIT = 1 << 53
"""Larger counts are no token counts, and not every client could hold them."""


def responses_usage(given: object) -> Json | None:
    """A Responses ``usage`` object with every number an integer; None when there is none or it says nothing."""
    if not isinstance(given, dict):
        return None
    input_tokens, output_tokens = count(given.get("input_tokens")), count(given.get("output_tokens"))
    if input_tokens is None and output_tokens is None:
        return None
    return usage_of(
        input_tokens or 0,
        output_tokens or 0,
        cached=_detail(given, "input_tokens_details", "cached_tokens"),
        written=_detail(given, "input_tokens_details", "cache_write_tokens"),
        reasoning=_detail(given, "output_tokens_details", "reasoning_tokens"),
        total=count(given.get("total_tokens")),
    )


def usage_of(
    input_tokens: int,
    output_tokens: int,
    *,
    cached: int = 0,
    written: int = 0,
    reasoning: int = 0,
    total: int | None = None,
) -> Json:
    """Build a usage object. ``cached`` and ``written`` (into the cache) are parts of the input, ``reasoning`` is a part
    of the output. Each is always there: OpenAI's types require them, and strict clients refuse the whole answer."""
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": input_tokens + output_tokens if total is None else total,
    }


def count(value: Any) -> int | None:
    """A token count from whatever an upstream sent: 3, 3.0 or "3"; None if it is no count."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(float(value))
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < _LIMIT else None


def _detail(given: Json, group: str, name: str) -> int:
    details = given.get(group)
    return (count(details.get(name)) or 0) if isinstance(details, dict) else 0
