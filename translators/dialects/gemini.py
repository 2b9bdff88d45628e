"""Gemini's OpenAI-compatible endpoint (ai.google.dev): narrow schemas, and each call wants its signature back."""

from __future__ import annotations

from translators.dialects.base import Dialect

GEMINI = Dialect(
    name="gemini",
    refused=frozenset({"presence_penalty", "frequency_penalty", "seed", "user", "top_logprobs"}),
    tool_choice=frozenset({"auto", "none", "required", "named"}),
    parallel_tool_calls=False,
    strict_tools=False,
    schema=frozenset({"inline_refs", "no_bool", "no_meta", "no_additional_properties", "no_type_arrays"}),
    later_system=False,
    efforts=frozenset({"none", "minimal", "low", "medium", "high"}),
    effort_map={"xhigh": "high", "max": "high", "ultra": "high"},
    replay="none",
)


def gemini(model: str) -> Dialect:
    """The dialect of a Gemini model."""
    return GEMINI
