"""SqlStore: the Store protocol over jobs; a database only has to run them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import ClassVar, TypeVar

from agentic_proxy.config.model import Retention
from agentic_proxy.store import approvals, background, conversations, export, keys, removal, responses, usage
from agentic_proxy.store.base import (
    ConversationRow,
    ConversationWindow,
    FinishedTurn,
    Item,
    Listing,
    Page,
    ResponseRow,
    Stats,
    Window,
)
from agentic_proxy.store.health import Health
from agentic_proxy.store.jobs import Job, Query, known, one
from agentic_proxy.store.retention import Keeper
from agentic_proxy.usage.base import RequestRecord, Story, Sums, UsageRecord

T = TypeVar("T")
PROBE = "INSERT INTO probe (key, at) VALUES (1, ?1) ON CONFLICT (key) DO UPDATE SET at = excluded.at"
FOREVER = 1 << 62


def _probe(now: int) -> Job[None]:
    yield Query(PROBE, (now,))


class SqlStore(ABC):
    """The Store protocol. ``clock`` gives Unix seconds."""

    SIZE: ClassVar[str]
    """The statement that measures the bytes kept."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._keeper: Keeper | None = None
        self._health = Health(lambda: self._write(_probe(self._now())))

    @abstractmethod
    async def _read(self, job: Job[T]) -> T:
        """Run a job that changes nothing, on one state of the database."""

    @abstractmethod
    async def _write(self, job: Job[T], *, removes: bool = False) -> T:
        """Run a job as one transaction, to its end even when the caller is cancelled.

        ``removes``: nothing else may write at the same time, for the job removes what it found unneeded.
        """

    @abstractmethod
    async def _shrink(self) -> None:
        """Give space back after a removal."""

    @abstractmethod
    async def _close(self) -> None:
        """Finish what was begun, then let go of the database."""

    def keep(self, retention: Retention) -> None:
        """Prune from now on, until the store is closed. Called again it changes what is kept."""
        if self._keeper is None:
            self._keeper = Keeper(self, retention, self._clock)
        self._keeper.retention = retention

    async def close(self) -> None:
        """Write what is queued, then close. May be called again."""
        if self._keeper is not None:
            await self._keeper.close()
        await self._health.close()
        await self._close()

    def _now(self) -> int:
        return int(self._clock())

    async def ready(self) -> None:
        self._health.check()

    async def window(self, response_id: str) -> Window | None:
        return await self._read(responses.window(response_id))

    async def commit(self, turn: FinishedTurn) -> bool:
        return await self._write(responses.commit(turn))

    async def response(self, response_id: str) -> ResponseRow | None:
        return await self._read(responses.response(response_id))

    async def delete_response(self, response_id: str) -> bool:
        return await self._write(removal.delete_response(response_id), removes=True)

    async def input_items(self, response_id: str, page: Page) -> Listing | None:
        return await self._read(responses.input_items(response_id, page))

    async def item(self, item_id: str) -> bytes | None:
        return await self._read(responses.item(item_id))

    async def begin(self, row: ResponseRow, input_: tuple[Item, ...], owner: str) -> None:
        await self._write(background.begin(row, input_, owner))

    async def append_events(self, response_id: str, events: Sequence[tuple[int, bytes]]) -> None:
        await self._write(background.append_events(response_id, events))

    async def events(self, response_id: str, after: int) -> list[tuple[int, bytes]]:
        return await self._read(background.events(response_id, after))

    async def renew(self, owner: str, until: int) -> None:
        await self._write(background.renew(owner, until, self._now()))

    async def owners(self, now: int) -> list[str]:
        return await self._read(background.owners(now))

    async def orphans(self, now: int) -> list[ResponseRow]:
        return await self._read(background.orphans(now))

    async def create_conversation(self, row: ConversationRow, items: Sequence[Item]) -> None:
        await self._write(conversations.create(row, items))

    async def conversation(self, conversation_id: str) -> ConversationRow | None:
        return await self._read(conversations.read(conversation_id))

    async def conversation_window(self, conversation_id: str) -> ConversationWindow | None:
        return await self._read(conversations.window(conversation_id))

    async def update_conversation(self, conversation_id: str, metadata: bytes) -> ConversationRow | None:
        return await self._write(conversations.update(conversation_id, metadata))

    async def delete_conversation(self, conversation_id: str) -> bool:
        return await self._write(removal.delete_conversation(conversation_id), removes=True)

    async def add_items(self, conversation_id: str, items: Sequence[Item]) -> bool:
        return await self._write(conversations.add_items(conversation_id, items, self._now()))

    async def conversation_items(self, conversation_id: str, page: Page) -> Listing | None:
        return await self._read(conversations.listing(conversation_id, page))

    async def conversation_item(self, conversation_id: str, item_id: str) -> bytes | None:
        return await self._read(conversations.item(conversation_id, item_id))

    async def remove_item(self, conversation_id: str, item_id: str) -> bool:
        return await self._write(conversations.remove_item(conversation_id, item_id), removes=True)

    async def claim(self, digests: Sequence[bytes]) -> dict[bytes, bytes | None]:
        return await self._write(approvals.claim(sorted(digests), self._now()))

    async def give_back(self, digests: Sequence[bytes]) -> None:
        await self._write(approvals.give_back(digests))

    async def settle(self, digest: bytes, outcome: bytes) -> None:
        await self._write(approvals.settle(digest, outcome))

    async def shared_key(self, name: str, proposed: bytes) -> bytes:
        return await self._write(keys.shared_key(name, proposed))

    async def keep_usage(self, requests: Sequence[RequestRecord], attempts: Sequence[UsageRecord]) -> None:
        await self._write(usage.keep(requests, attempts))

    async def usage_since(self, at: int) -> Sums:
        return await self._read(usage.since(at))

    async def story(self, name: str) -> Story | None:
        return await self._read(usage.story(name))

    async def stats(self) -> Stats:
        return await self._read(export.stats(self.SIZE))

    async def prune(self, older_than: int, size: int) -> int:
        if await self._read(known(approvals.OLD, older_than, self._now() - approvals.OUTCOMES)):
            await self._write(approvals.forget(older_than, self._now()))
        count = await self._prune_by_age(older_than) + await self._prune_by_size(size)
        if count:
            await self._write(removal.forget_texts(), removes=True)
            await self._shrink()
        return count

    async def _prune_by_age(self, older_than: int) -> int:
        while await self._read(known(usage.OLD, older_than)):
            await self._write(usage.forget(older_than))
        count = 0
        while old := await self._read(removal.candidates(older_than)):
            gone = await self._write(removal.remove(old, older_than), removes=True)
            if not gone.number:
                break
            count += gone.number
        return count

    async def _prune_by_size(self, size: int) -> int:
        count = 0
        while (measured := await self._read(one(self.SIZE))) and measured[0] > size:
            if await self._write(approvals.forget_outcomes(self._now() - approvals.RECENT)):
                continue
            old = await self._read(removal.candidates(FOREVER))
            gone = await self._write(removal.remove(old, FOREVER, measured[0] - size), removes=True)
            await self._write(removal.forget_texts(), removes=True)
            # Records of usage are small: they go when nothing else is left to go.
            if not gone.number and not await self._write(usage.forget(FOREVER)):
                break
            count += gone.number
        return count

    async def export(self) -> AsyncIterator[bytes]:
        for lines_after in (export.conversation_lines, export.response_lines):
            after: int | None = 0
            while after is not None:
                lines, after = await self._read(lines_after(after))
                for line in lines:
                    yield line
