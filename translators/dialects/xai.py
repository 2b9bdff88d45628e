"""xAI (docs.x.ai: reasoning, comparison, generate-text; error bodies from public reports).

Which levels of effort a model takes is in the documentation of each; the older reasoning models refuse the field.
"""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import ALL_CHOICES, Dialect, Replay

_REFUSED = frozenset(
    {
        *("metadata", "prompt_cache_retention", "safety_identifier", "service_tier", "truncation", "stop"),
        *("presence_penalty", "frequency_penalty", "logit_bias", "reasoning.summary", "text.verbosity"),
    }
)
_FIELDS = frozenset({"filters", "enable_image_understanding", "allowed_x_handles", "excluded_x_handles"})
_DOWN = {"minimal": "low", "none": "low", "max": "high", "xhigh": "high", "ultra": "high"}

XAI = Dialect(
    name="xai",
    refused=_REFUSED,
    max_tokens_field="max_completion_tokens",
    cache_key_header="x-grok-conv-id",
    hosted_tools=frozenset({"web_search", "x_search", "code_interpreter"}),
    hosted_fields=_FIELDS | {"from_date", "to_date"},
    traces=frozenset({"x_user_search", "x_semantic_search", "x_keyword_search", "x_thread_fetch"}),
    tool_limit=200,
    tool_choice=ALL_CHOICES - {"allowed"},
    strict_tools=False,
    schema=frozenset({"inline_refs", "no_root_union"}),
    reserved_names=frozenset({"web_search", "x_search", "code_interpreter"}),
    adjacent_outputs=True,
    empty_messages=False,
    efforts=frozenset({"low", "medium", "high"}),
    effort_map=_DOWN,
    replay="none",
)

_XHIGH = frozenset({"low", "medium", "high", "xhigh"})
_LEVELS: dict[str, frozenset[str]] = {
    "grok-4.3": frozenset({"none", "low", "medium", "high"}),
    "grok-4.5": frozenset({"low", "medium", "high"}),
    "grok-4.6": _XHIGH,
    "grok-4.7": _XHIGH,
    "grok-4.20-multi-agent": _XHIGH,
    "grok-3-mini": frozenset({"low", "high"}),
    "grok-4.20": frozenset(),
    "grok-4-": frozenset(),
    "grok-code": frozenset(),
    "grok-build": frozenset(),
    "composer": frozenset(),
}
"""By the beginning of a model's name, the longest one counts; an empty set: the field is a 400."""


def xai(model: str) -> Dialect:
    """The dialect of one of xAI's models."""
    if model == "grok-4":
        return replace(XAI, efforts=frozenset())
    known = max((prefix for prefix in _LEVELS if model.startswith(prefix)), key=len, default=None)
    if known is None:
        return XAI
    levels = _LEVELS[known]
    names = {asked: level for asked, level in _DOWN.items() if asked not in levels}
    names.update({"xhigh": "xhigh", "max": "xhigh"} if "xhigh" in levels else {})
    names.update({"medium": "low"} if "medium" not in levels else {})
    replay: Replay = "reasoning_content" if known == "grok-3-mini" else "none"
    return replace(XAI, efforts=levels, effort_map=names, replay=replay)
