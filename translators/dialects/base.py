"""Dialect: how one provider's flavour of a wire format differs from the plain one, as data.

A provider's dialect file makes one instance; request translators read it and never ask for a provider's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Dialect:
    """Capabilities of an upstream. The defaults are the safe ones for an unknown Chat Completions server."""

    name: str = "generic"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True
    """Send ``stream_options.include_usage``."""
    images_in_tool_results: bool = False
    """False: images of a tool result go into a user message behind the results."""
    hosted_tools: frozenset[str] = frozenset()
    """Tool types that the upstream runs itself; others are left out by rule ``hosted_tool_left_out``."""
    cache_key_field: str | None = None
    """Where ``prompt_cache_key`` goes; None: it is not sent."""
    reasoning_effort: bool = True
    """Whether ``reasoning_effort`` is sent when the client asked for an effort."""
    parallel_tool_calls: bool = True
    """Whether ``parallel_tool_calls`` is sent."""
