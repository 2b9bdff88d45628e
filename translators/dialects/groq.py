"""Groq (public SDK; error bodies from public reports): message objects are closed, so reasoning never goes back."""

from __future__ import annotations

from translators.dialects.base import Dialect

GROQ = Dialect(
    name="groq",
    refused=frozenset({"top_logprobs"}),
    max_tokens_field="max_completion_tokens",
    tool_limit=128,
    tool_choice=frozenset({"auto", "none", "required", "named"}),
    later_system=False,
    effort_map={"minimal": "low", "xhigh": "high", "max": "high"},
    efforts=frozenset({"none", "default", "low", "medium", "high"}),
    replay="none",
)


def groq(model: str) -> Dialect:
    """The dialect of a model that Groq runs."""
    return GROQ
