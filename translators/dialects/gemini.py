"""Gemini's OpenAI-compatible endpoint (ai.google.dev): narrow schemas, and each call wants its signature back."""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

GEMINI = Dialect(
    name="gemini",
    refused=frozenset({"presence_penalty", "frequency_penalty", "seed", "user", "top_logprobs"}),
    tool_choice=frozenset({"auto", "none", "required", "named"}),
    parallel_tool_calls=False,
    strict_tools=False,
    schema=frozenset({"inline_refs", "no_bool", "no_meta", "no_additional_properties", "no_type_arrays", "any_draft"}),
    images_known=True,
    later_system=False,
    efforts=frozenset({"none", "minimal", "low", "medium", "high"}),
    effort_map={"xhigh": "high", "max": "high", "ultra": "high"},
    replay="none",
)


_UP = {"xhigh": "high", "max": "high", "ultra": "high"}
_PRO = replace(
    GEMINI,
    efforts=frozenset({"low", "high"}),
    effort_map={**_UP, "none": "low", "minimal": "low", "medium": "high"},
)
_THREE = replace(GEMINI, efforts=frozenset({"minimal", "low", "medium", "high"}), effort_map={**_UP, "none": "minimal"})
_TWO_PRO = replace(
    GEMINI, efforts=frozenset({"low", "medium", "high"}), effort_map={**_UP, "none": "low", "minimal": "low"}
)


def gemini(model: str) -> Dialect:
    """The dialect of a Gemini model: only the smaller ones of the second family can be told not to think."""
    if "gemini-2.5-pro" in model:
        return _TWO_PRO
    if "gemini-3" in model:
        return _PRO if "pro" in model else _THREE
    return GEMINI
