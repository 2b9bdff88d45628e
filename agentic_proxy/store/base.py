"""Store: what a stateful turn needs to remember. One protocol, several backends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A finished response as the client saw it, with what a continuation inherits.

    ``history`` is the whole client-shaped item window (input and output) that a child continues from;
    ``tools`` and ``tool_choice`` are the effective ones of the turn; instructions are never inherited.
    """

    id: str
    response: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    tools: list[Any] | None
    tool_choice: Any


class Store(Protocol):
    """Commit happens before the terminal event; ``save`` returning means it is kept."""

    async def get(self, response_id: str) -> StoredResponse | None: ...

    async def save(self, stored: StoredResponse) -> None:
        """Keep a finished response. Raises Failure ``store_failed``."""
        ...

    async def close(self) -> None: ...
