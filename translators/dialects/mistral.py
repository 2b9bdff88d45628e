"""Mistral (public SDK): thinking as content parts, call ids of nine characters, no user message after a tool."""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

MISTRAL = Dialect(
    name="mistral",
    refused=frozenset({"user", "seed", "top_logprobs"}),
    stream_usage=False,
    cache_key_field="prompt_cache_key",
    tool_choice=frozenset({"auto", "none", "required", "named"}),
    schema=frozenset({"inline_refs", "no_meta"}),
    files=False,
    later_system=False,
    assistant_after_tool=True,
    user_last=True,
    call_id_length=9,
    efforts=frozenset({"none", "high"}),
    effort_map={"minimal": "none", "low": "high", "medium": "high", "xhigh": "high", "max": "high"},
    replay="thinking_parts",
)
_GLM = replace(
    MISTRAL,
    efforts=frozenset({"low", "high", "max"}),
    effort_map={"none": "low", "minimal": "low", "medium": "high", "xhigh": "max", "ultra": "max"},
)


def mistral(model: str) -> Dialect:
    """The dialect of a Mistral model; GLM-5.3, which it hosts, has levels of its own (anomalyco/models.dev#7334)."""
    return _GLM if model.startswith("zai-glm-5-3") else MISTRAL
