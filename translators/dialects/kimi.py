"""Kimi / Moonshot (platform.kimi.ai documentation and error reference; what its official CLI sends).

With thinking on, an assistant message with tool calls that lacks ``reasoning_content`` is a 400, and so is any
sampling value but the model's own; so sampling is never sent and reasoning always is.
"""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

_SAMPLING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty", "n", "top_logprobs"})

KIMI = Dialect(
    name="kimi",
    refused=_SAMPLING,
    max_tokens_field="max_completion_tokens",
    cache_key_field="prompt_cache_key",
    tool_limit=128,
    files=False,
    strict_tools=False,
    schema=frozenset({"moonshot"}),
    later_system=False,
    adjacent_outputs=True,
    replay_required="calls",
    tool_choice=frozenset({"auto", "none", "required"}),
    efforts=frozenset({"low", "high", "max"}),
    effort_map={"none": "low", "minimal": "low", "medium": "high", "xhigh": "max", "ultra": "max"},
    thinking_off=False,
)
"""K3: an effort at the top level, always thinking."""

_ALWAYS = replace(KIMI, reasoning="none", tool_choice=frozenset({"auto", "none"}))
_SWITCHED = replace(_ALWAYS, reasoning="thinking", thinking_off=True, efforts=None, effort_map={})
_PLAIN = replace(
    _ALWAYS,
    refused=frozenset(),
    replay="none",
    replay_required="no",
    tool_choice=frozenset({"auto", "none", "named"}),
)

_MODELS: dict[str, Dialect] = {
    "kimi-k2.7": _ALWAYS,
    "kimi-for-coding": _ALWAYS,
    "kimi-k2": _SWITCHED,
    "moonshot-v1": _PLAIN,
}


def kimi(model: str) -> Dialect:
    """The dialect of one of Moonshot's models; an unknown name counts as the newest family."""
    known = max((prefix for prefix in _MODELS if model.startswith(prefix)), key=len, default=None)
    return KIMI if known is None else _MODELS[known]
