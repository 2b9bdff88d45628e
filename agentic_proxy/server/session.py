"""Which session a request belongs to, as the client's own headers say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HEADERS: Final = ("session-id", "thread-id", "x-session-id", "x-session-affinity")
"""Codex 0.171.0 sends the first two, opencode 1.18 the others; the first one found counts."""


def session_of(headers: Mapping[str, str]) -> str | None:
    """The session's name; None when no header tells. It is only ever compared, never sent or shown."""
    return next((value for name in HEADERS if (value := headers.get(name, "").strip())), None)
