"""Anthropic (public API documentation and refusals in public issue threads): what differs between its models."""

from __future__ import annotations

import re
from dataclasses import replace

from translators.dialects.base import Dialect

__all__ = ["anthropic", "on_messages"]

_NAME = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?![\d.])")
_OUTPUT = ((("claude-3-5",), 8192), (("claude-3-haiku", "claude-3-opus", "claude-3-sonnet"), 4096))
_OPUS_4 = re.compile(r"claude-opus-4(?:[-.][01])?(?!-\d(?!\d)|\.\d)")


def anthropic(model: str) -> Dialect:
    """The dialect of a model, by the version in its name; an unknown name is taken for a current one."""
    version = _version(model)
    levels = _levels(model, version)
    return Dialect(
        name="anthropic",
        refused=frozenset({"temperature", "top_p", "top_k"}) if version >= (4, 7) else frozenset(),
        max_tokens_limit=_limit(model, version),
        one_sampling_field=True,
        temperature_limit=1.0,
        extra={"cache_control": {"type": "ephemeral"}},
        tools_beside_calls=True,
        strict_tools=False,
        schema=frozenset({"any_draft"}),
        json_schema=version >= (4, 5),
        images_known="claude" in model,
        thinking_on="adaptive" if version >= (4, 6) else "enabled",
        later_system=version >= (4, 8),
        efforts=levels,
        effort_map={} if levels is None else {"minimal": "low", "xhigh": "high", "max": "high", "ultra": "high"},
        replay="none",
        encrypted_reasoning="sealed",
    )


def on_messages(dialect: Dialect) -> Dialect:
    """What is known of a provider of another type, for its Messages endpoint. What such endpoints have in common is the
    oldest form of everything: one system text, thinking with a budget, no schema for the answer."""
    if dialect.name == "anthropic":
        return dialect
    return replace(dialect, extra={}, later_system=False, json_schema=False, thinking_on="enabled", replay="none")


def _version(model: str) -> tuple[int, int]:
    match = _NAME.search(model)
    if match is None:
        return (4, 5) if "claude" not in model else (5, 0)
    return int(match[1]), int(match[2] or 0)


def _levels(model: str, version: tuple[int, int]) -> frozenset[str] | None:
    """The levels of effort of the first models that have any; older ones have a budget, newer ones all levels."""
    if version != (4, 6):
        return None
    return frozenset({"none", "low", "medium", "high", *(("max",) if "opus" in model else ())})


def _limit(model: str, version: tuple[int, int]) -> int | None:
    for names, limit in _OUTPUT:
        if any(name in model for name in names):
            return limit
    if _OPUS_4.search(model):
        return 32_000
    return 64_000 if "claude" in model and version < (4, 6) else None
