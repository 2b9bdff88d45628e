"""Writer: the one task that writes to a SQLite store.

It takes what is queued when it is free and never waits for company. Callers await a shielded future: whoever is
cancelled goes away alone, the transaction runs to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from agentic_proxy.store.jobs import Job

T = TypeVar("T")
BATCH = 64
"""Jobs in one transaction at most."""


class Outcome(NamedTuple):
    """What became of one job: its value, or the exception that undid it."""

    value: Any
    error: Exception | None = None


class Writer:
    """``execute`` runs jobs in one transaction, in order, and returns an outcome for each; raising undoes them all."""

    def __init__(self, execute: Callable[[list[Job[Any]]], Awaitable[list[Outcome]]]) -> None:
        self._execute = execute
        self._queue: list[tuple[Job[Any], asyncio.Future[Any]]] = []
        self._task: asyncio.Task[None] | None = None

    async def run(self, job: Job[T]) -> T:
        """The job's value once it is kept; raises what it raised. Cancelled: the job goes on."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.append((job, future))
        if self._task is None:
            self._task = loop.create_task(self._drain())
        return await asyncio.shield(future)

    async def close(self) -> None:
        """Wait until everything queued is written."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        try:
            while self._queue:
                taken, self._queue = self._queue[:BATCH], self._queue[BATCH:]
                await self._write(taken)
        finally:
            self._task = None

    async def _write(self, taken: list[tuple[Job[Any], asyncio.Future[Any]]]) -> None:
        try:
            outcomes = await self._execute([job for job, _ in taken])
        except Exception as error:
            outcomes = [Outcome(None, error)] * len(taken)
        except asyncio.CancelledError:
            # The loop ends. The thread writes on; nobody is left to hear of it.
            for _, future in (*taken, *self._queue):
                future.cancel()
            self._queue.clear()
            raise
        for (_, future), outcome in zip(taken, outcomes, strict=True):
            if outcome.error is None:
                future.set_result(outcome.value)
            else:
                future.set_exception(outcome.error)
