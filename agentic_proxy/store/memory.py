"""MemoryStore: keeps responses for the life of the process, the oldest going first when its bound is reached."""

from __future__ import annotations

from agentic_proxy.store.base import StoredResponse

MAX_RESPONSES = 1000


class MemoryStore:
    """A Store without a disk. ``limit`` is the number of responses kept."""

    def __init__(self, limit: int = MAX_RESPONSES) -> None:
        self._limit = limit
        self._responses: dict[str, StoredResponse] = {}

    async def get(self, response_id: str) -> StoredResponse | None:
        """The stored response, or None when it never was or is gone."""
        return self._responses.get(response_id)

    async def save(self, stored: StoredResponse) -> None:
        """Keep a response; the same id again replaces it."""
        self._responses[stored.id] = stored
        while len(self._responses) > self._limit:
            del self._responses[next(iter(self._responses))]

    async def close(self) -> None:
        """Forget everything."""
        self._responses.clear()
