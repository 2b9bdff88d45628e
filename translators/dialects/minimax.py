"""MiniMax (platform.minimax.io; public error bodies). ``reasoning_split`` keeps the trace out of the text."""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import ALL_CHOICES, Dialect

MINIMAX = Dialect(
    name="minimax",
    max_tokens_field="max_completion_tokens",
    cumulative=True,
    extra={"reasoning_split": True},
    tool_choice=ALL_CHOICES - {"allowed"},
    strict_tools=False,
    files=False,
    later_system=False,
    adjacent_outputs=True,
    reasoning="thinking",
    thinking_on="adaptive",
    replay="reasoning_details",
)


_BLIND = replace(MINIMAX, images=False)


def minimax(model: str) -> Dialect:
    """The dialect of one of MiniMax's models: those before M3 read only text."""
    return _BLIND if model.lower().startswith(("minimax-m1", "minimax-m2", "minimax-text")) else MINIMAX
