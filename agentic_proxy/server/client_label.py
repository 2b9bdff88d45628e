"""The client's label: a short known name for the program that asks, never its header."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

LABELS: Final = (
    ("codex", "codex"),
    ("claude-cli", "claude-code"),
    ("claude-code", "claude-code"),
    ("opencode", "opencode"),
    ("qwencode", "qwen-code"),
    ("agents/python", "openai-agents"),
    ("openai/", "openai-sdk"),
    ("anthropic/", "anthropic-sdk"),
    ("ai-sdk/", "ai-sdk"),
    ("curl/", "curl"),
)
"""What a ``User-Agent`` holds, in small letters, and what the program is called here; the first one that fits counts
(Codex 0.171, Claude Code 2.1, opencode 1.18, qwen-code 0.2, openai 3.57, openai-agents 0.24, anthropic 2.14)."""
OTHER: Final = "other"
_SHOWN: Final = 256
"""Characters of the header that are looked at."""


def client_label(headers: Mapping[str, str]) -> str:
    """The label of the program that sent these headers; ``other`` for one that is not known."""
    return _label(headers.get("User-Agent", "")[:_SHOWN])


@lru_cache(maxsize=64)
def _label(agent: str) -> str:
    agent = agent.lower()
    return next((label for part, label in LABELS if part in agent), OTHER)
