"""UsageSink: takes records before the terminal event goes out and hands them on afterwards, many at once."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Final, TypeVar

import structlog

from agentic_proxy.usage.base import Ledger, RequestRecord, UsageRecord
from translators.failure import Failure

T = TypeVar("T")
RECENT: Final = 1_000
"""The newest attempts, for readers inside the process."""
PENDING: Final = 10_000
"""Records that may wait to be written; a store that takes none for long loses the oldest."""
PAUSE: Final = 0.5
"""Seconds that records wait for company."""
RETRY: Final = 5.0
"""Seconds until what was not taken is tried again."""
TRIES: Final = 60
"""How often it is tried: it may itself be why the store does not take it."""
BATCH: Final = 200
"""Records in one transaction at most: turns that commit get their turn in between."""
LOST: Final = "usage and explain will not know of it"
WAITS: Final = "usage and explain do not know of it until the store takes it"

log = structlog.get_logger("agentic_proxy.usage")


class UsageSink:
    """Appending never waits and never fails. With a ``ledger`` everything is written there half a second later and on
    ``close``. What it does not take waits for it, which is logged once until it takes something again."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.records: deque[UsageRecord] = deque(maxlen=RECENT)
        self.repairs: Counter[tuple[str, str, str]] = Counter()
        """Repairs of tool calls by (provider, upstream model, rule id)."""
        self._ledger = ledger
        self._attempts: deque[UsageRecord] = deque(maxlen=PENDING)
        self._requests: deque[RequestRecord] = deque(maxlen=PENDING)
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._failed = 0
        """Batches that were not taken since the last one that was."""

    def append(self, record: UsageRecord) -> None:
        """Take the record of an attempt."""
        self.records.append(record)
        for rule in record.repairs:
            self.repairs[record.provider, record.upstream_model, rule] += 1
        if self._ledger is not None:
            self._attempts.append(record)
            self._soon()

    def answered(self, record: RequestRecord) -> None:
        """Take the record of a request."""
        if self._ledger is not None:
            self._requests.append(record)
            self._soon()

    async def flush(self) -> None:
        """Write what is pending now."""
        await self._written()
        self._cancel_timer()
        self._begin()
        await self._written()

    async def _written(self) -> None:
        while self._writing is not None:
            await asyncio.wait([self._writing])

    async def close(self) -> None:
        """Write what is pending, before the ledger is closed; nothing is written afterwards. May be called again."""
        await self.flush()
        self._cancel_timer()
        self._ledger = None
        if self._requests or self._attempts:
            log.warning("usage_lost", reason="The store took nothing more before the end.", effect=LOST)
            self._requests.clear()
            self._attempts.clear()

    def _soon(self) -> None:
        if self._timer is None and self._writing is None:
            pause = RETRY if self._failed else PAUSE
            self._timer = asyncio.get_running_loop().call_later(pause, self._begin)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        self._timer = None
        self._writing = asyncio.get_running_loop().create_task(self._write_and_go_on())

    async def _write_and_go_on(self) -> None:
        try:
            await self._write()
        finally:
            self._writing = None
            if self._requests or self._attempts:
                self._soon()

    async def _write(self) -> None:
        ledger = self._ledger
        if ledger is None:
            return
        # What comes meanwhile waits for the next time, or small batches would follow each other without an end.
        for _ in range(0, max(len(self._requests), len(self._attempts)), BATCH):
            requests, attempts = _taken(self._requests), _taken(self._attempts)
            try:
                await ledger.keep_usage(requests, attempts)
            except Exception as error:
                self._failed += 1
                lost = not isinstance(error, Failure) or self._failed % TRIES == 0
                if self._failed % TRIES in (0, 1):
                    event, effect = ("usage_lost", LOST) if lost else ("usage_not_kept", WAITS)
                    reason = error.message if isinstance(error, Failure) else repr(error)
                    log.warning(event, reason=reason, effect=effect)
                if lost:
                    continue
                _put_back(self._requests, requests)
                _put_back(self._attempts, attempts)
                break
            self._failed = 0


def _taken(queue: deque[T]) -> list[T]:
    return [queue.popleft() for _ in range(min(BATCH, len(queue)))]


def _put_back(queue: deque[T], taken: list[T]) -> None:
    """In front of what came meanwhile, as far as there is room."""
    room = PENDING - len(queue)
    queue.extendleft(reversed(taken[max(0, len(taken) - room) :]))
