"""Token counts of the Messages API and of the hub.

Wire fact: ``input_tokens`` of Messages leaves out both cache counters, the sum of the three is the prompt; in the hub
``cached_tokens`` and ``cache_write_tokens`` are parts of ``input_tokens``.
"""

from __future__ import annotations

from translators.events import Json
from translators.usage import count, usage_of

__all__ = ["from_hub", "to_hub"]


def from_hub(usage: Json | None) -> Json:
    """Hub usage as Messages usage, never negative; zeros when an upstream told nothing."""
    usage = usage or usage_of(0, 0)
    details = usage.get("input_tokens_details") or {}
    total = usage["input_tokens"]
    read = min(details.get("cached_tokens") or 0, total)
    written = min(details.get("cache_write_tokens") or 0, total - read)
    return {
        "input_tokens": total - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": usage["output_tokens"],
    }


def to_hub(usage: Json) -> Json | None:
    """Messages usage as hub usage; None when it names neither side."""
    fresh, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if fresh is None and output is None:
        return None
    read = count(usage.get("cache_read_input_tokens")) or 0
    written = count(usage.get("cache_creation_input_tokens")) or 0
    details = usage.get("output_tokens_details")
    thinking = count(details.get("thinking_tokens")) if isinstance(details, dict) else None
    total, thought = (fresh or 0) + read + written, min(thinking or 0, output or 0)
    return usage_of(total, output or 0, cached=read, written=written, reasoning=thought)
