"""Groq (public SDK; error bodies from public reports): message objects are closed, so reasoning never goes back.

Which levels of effort there are depends on whose model it runs; those that do not reason refuse the field.
"""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

GROQ = Dialect(
    name="groq",
    refused=frozenset({"top_logprobs"}),
    max_tokens_field="max_completion_tokens",
    tool_limit=128,
    tool_choice=frozenset({"auto", "none", "required", "named"}),
    files=False,
    later_system=False,
    efforts=frozenset(),
    replay="none",
)
_LEVELS: dict[str, Dialect] = {
    "gpt-oss": replace(
        GROQ,
        efforts=frozenset({"low", "medium", "high"}),
        effort_map={"none": "low", "minimal": "low", "xhigh": "high", "max": "high", "ultra": "high"},
    ),
    "qwen": replace(
        GROQ,
        efforts=frozenset({"none", "default"}),
        effort_map=dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max", "ultra"), "default"),
        extra={"reasoning_format": "parsed"},
    ),
}


def groq(model: str) -> Dialect:
    """The dialect of a model that Groq runs, by whose it is: ``openai/gpt-oss-120b``, ``qwen/qwen3-32b``."""
    return next((dialect for name, dialect in _LEVELS.items() if name in model), GROQ)
