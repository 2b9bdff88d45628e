"""Store: what stateful turns need to remember. One protocol, several backends.

Items are kept as the JSON bytes that a client would see, each once: a response refers to its own input and output
items and continues the window of an earlier response, so a chain of 500 turns stores every item a single time and a
window is joined bytes, not parsed objects. Public ids are no keys: the same item id may be stored any number of times.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from agentic_proxy.usage.base import Ledger

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]


class Item(NamedTuple):
    """One item: its public id (never empty) and its JSON bytes, which hold that id. An ``internal`` one stands among
    the output for continuations and is never shown."""

    id: str
    data: bytes
    internal: bool = False


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One response. ``data`` is the public Response object as JSON bytes.

    ``continues`` is the response whose window comes before this one's own items; ``tools`` and ``tool_choice`` are the
    effective ones as JSON (MCP credentials already taken out), None when there were none. Times are Unix seconds.
    """

    id: str
    created_at: int
    status: Status
    model: str
    data: bytes
    continues: str | None = None
    conversation: str | None = None
    tools: bytes | None = None
    tool_choice: bytes | None = None
    background: bool = False
    instructions: bytes | None = None
    """Only of a prewarm: the instructions that its continuations inherit, as JSON."""


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """What one turn commits in a single transaction. ``input`` holds only the items that are new in this turn.

    With a conversation, ``revision`` is the one its window was read at: another one at commit means that somebody else
    was faster; None appends whatever happened. Only a completed or incomplete turn becomes part of its conversation.
    ``row`` replaces the row of the same id that ``begin`` wrote; the input that ``begin`` kept stays when ``input`` is
    empty.
    """

    row: ResponseRow
    input: tuple[Item, ...]
    output: tuple[Item, ...]
    revision: int | None = None


class Window(NamedTuple):
    """What a continuation starts from: all items before it, oldest first, and the effective tools. ``internal`` holds
    the places of items that are never shown."""

    items: tuple[bytes, ...]
    tools: bytes | None
    tool_choice: bytes | None
    instructions: bytes | None = None
    internal: frozenset[int] = frozenset()


class ConversationWindow(NamedTuple):
    """A conversation's items and the revision they belong to; ``internal`` as in a ``Window``."""

    items: tuple[bytes, ...]
    revision: int
    internal: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """``metadata`` is a JSON object as bytes."""

    id: str
    created_at: int
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """A cursor: ``after`` is an item id of the list, ``limit`` 1..100."""

    after: str | None = None
    limit: int = 20
    order: Literal["asc", "desc"] = "desc"


class Listing(NamedTuple):
    """One page of items; ``more`` tells whether others follow."""

    items: tuple[Item, ...]
    more: bool


class Stats(NamedTuple):
    """Counts and size in bytes of everything kept."""

    responses: int
    items: int
    conversations: int
    size: int


class Store(Ledger, Protocol):
    """Every method may raise Failure ``store_failed``. None means: there is no such thing.

    Commits go through one writer; callers may be cancelled at any moment without leaving a transaction open.
    """

    async def ready(self) -> None:
        """Raises Failure ``store_failed`` at once when the store is known not to accept writes."""
        ...

    async def window(self, response_id: str) -> Window | None:
        """The window after a completed or incomplete response."""
        ...

    async def commit(self, turn: FinishedTurn) -> bool:
        """Keep a finished response. Raises Failure ``conversation_locked`` (nothing of the turn is kept then),
        ``previous_response_not_found``, ``conversation_not_found``.

        A response that has finished is final: False, and nothing changed, when it has already (a background response
        that was cancelled meanwhile) or when it was begun and then deleted.
        """
        ...

    async def response(self, response_id: str) -> ResponseRow | None: ...

    async def delete_response(self, response_id: str) -> bool:
        """False when there was none. Responses that continue it keep their windows."""
        ...

    async def input_items(self, response_id: str, page: Page) -> Listing | None:
        """The whole input of a response, the window before it included. Raises Failure ``invalid_request_error`` for
        a cursor that is not in the list."""
        ...

    async def item(self, item_id: str) -> bytes | None:
        """The newest item with this public id, for ``item_reference``."""
        ...

    async def begin(self, row: ResponseRow, input_: tuple[Item, ...], owner: str) -> None:
        """Keep a background response that has not finished. ``owner`` names the process that runs it; it must be
        renewed before, or the response is an orphan at once. Raises Failure ``previous_response_not_found``,
        ``conversation_not_found``."""
        ...

    async def append_events(self, response_id: str, events: Sequence[tuple[int, bytes]]) -> None:
        """Keep events of a background response (sequence number, JSON bytes). Without effect when it is gone."""
        ...

    async def events(self, response_id: str, after: int) -> list[tuple[int, bytes]]:
        """Kept events with a greater sequence number, in order."""
        ...

    async def renew(self, owner: str, until: int) -> None:
        """This owner is alive until then (Unix seconds); 0 when it stops."""
        ...

    async def owners(self, now: int) -> list[str]:
        """Who has a lease that has not ended."""
        ...

    async def orphans(self, now: int) -> list[ResponseRow]:
        """Unfinished background responses whose owner is gone or not alive any more."""
        ...

    async def create_conversation(self, row: ConversationRow, items: Sequence[Item]) -> None:
        """Keep a new conversation with its first items."""
        ...

    async def conversation(self, conversation_id: str) -> ConversationRow | None: ...

    async def conversation_window(self, conversation_id: str) -> ConversationWindow | None: ...

    async def update_conversation(self, conversation_id: str, metadata: bytes) -> ConversationRow | None: ...

    async def delete_conversation(self, conversation_id: str) -> bool:
        """False when there was none. Its responses stay, with their windows."""
        ...

    async def add_items(self, conversation_id: str, items: Sequence[Item]) -> bool:
        """Append items; False when there is no such conversation."""
        ...

    async def conversation_items(self, conversation_id: str, page: Page) -> Listing | None:
        """Raises Failure ``invalid_request_error`` for a cursor that is not in the list."""
        ...

    async def conversation_item(self, conversation_id: str, item_id: str) -> bytes | None: ...

    async def remove_item(self, conversation_id: str, item_id: str) -> bool:
        """Take an item out of a conversation, with the internal ones behind it; False when it is not there. Responses
        keep their windows."""
        ...

    async def claim(self, digests: Sequence[bytes]) -> dict[bytes, bytes | None]:
        """Become the only one who runs these calls. Returns the outcomes of those that somebody claimed before; None or
        empty when there is none to be had, and then nothing was claimed."""
        ...

    async def give_back(self, digests: Sequence[bytes]) -> None:
        """Calls that were claimed and not begun: whoever comes next may have them."""
        ...

    async def settle(self, digest: bytes, outcome: bytes) -> None:
        """What came of a call that was claimed; empty when that must not be kept. It is forgotten after a day."""
        ...

    async def shared_key(self, name: str, proposed: bytes) -> bytes:
        """The key of that name: ``proposed`` the first time, the same one for everybody ever after."""
        ...

    async def stats(self) -> Stats: ...

    async def prune(self, older_than: int, size: int) -> int:
        """Remove what was created before ``older_than`` (Unix seconds), then the oldest until ``size`` bytes are not
        exceeded; returns how many responses and conversations went. What a kept response continues stays; a
        conversation is as old as its last turn. Records of usage go by age as well, by size only when nothing else is
        left."""
        ...

    def export(self) -> AsyncIterator[bytes]:
        """Everything as JSON lines without line ends: a line for each conversation, then for each response."""
        ...

    async def close(self) -> None: ...
