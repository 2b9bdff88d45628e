"""OpenRouter (openrouter.ai documentation and its public SDK): many providers behind one Chat endpoint."""

from __future__ import annotations

from dataclasses import replace

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


_CLAUDE = replace(OPENROUTER, extra={"cache_control": {"type": "ephemeral"}})
"""Anthropic's models cache nothing unless they are asked to; at the top level it means the last block."""


def openrouter(model: str) -> Dialect:
    """The dialect of a routed model: OpenRouter adapts nearly all there is to adapt."""
    return _CLAUDE if model.removeprefix("~").startswith("anthropic/") else OPENROUTER
