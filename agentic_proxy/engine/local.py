"""LocalWindows: what one connection remembers of its own responses that were not stored.

It dies with the connection. Bounded by bytes: the oldest window goes first, and a client that asks for one that is gone
sends everything again.
"""

from __future__ import annotations

from agentic_proxy.store.base import Window


class LocalWindows:
    """Windows by response id. ``limit`` is in bytes of JSON; what windows have in common counts for each."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._tools: bytes | None = None
        self._windows: dict[str, tuple[Window, int]] = {}

    def get(self, response_id: str) -> Window | None:
        """The window after a response of this connection, or None."""
        found = self._windows.get(response_id)
        return found[0] if found is not None else None

    def keep(self, response_id: str, window: Window) -> None:
        """Remember a window; the newest one stays even when it alone exceeds the limit."""
        self.forget(response_id)
        if self._tools == window.tools:
            window = window._replace(tools=self._tools)  # turn after turn the same ones, and large
        self._tools = window.tools
        size = sum(map(len, window.items))
        size += sum(len(part) for part in (window.tools, window.tool_choice, window.instructions) if part is not None)
        self._windows[response_id] = window, size
        self._size += size
        while self._size > self._limit and len(self._windows) > 1:
            self.forget(next(iter(self._windows)))

    def forget(self, response_id: str) -> None:
        """Drop a window, if it is there."""
        found = self._windows.pop(response_id, None)
        if found is not None:
            self._size -= found[1]
