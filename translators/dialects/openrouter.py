"""OpenRouter (openrouter.ai documentation and its public SDK): many providers behind one Chat endpoint."""

from __future__ import annotations

from translators.dialects.base import Dialect

OPENROUTER = Dialect(
    name="openrouter",
    later_system=False,
    cache_key_field="prompt_cache_key",
    reasoning="object",
    efforts=frozenset({"none", "minimal", "low", "medium", "high", "xhigh"}),
    effort_map={"max": "xhigh", "ultra": "xhigh"},
    replay="reasoning_details",
)


def openrouter(model: str) -> Dialect:
    """The dialect of a routed model: one for all, OpenRouter adapts it."""
    return OPENROUTER
