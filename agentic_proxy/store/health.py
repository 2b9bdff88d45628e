"""Health: whether the store is known not to accept writes, and when to find out again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from translators.failure import Failure

PAUSE = 1.0
"""Seconds between two attempts to write to a store that failed."""


class Health:
    """``probe`` writes something small; ``clock`` gives seconds. A write that worked ends what a failed one began."""

    def __init__(self, probe: Callable[[], Awaitable[object]], clock: Callable[[], float] = time.monotonic) -> None:
        self._probe = probe
        self._clock = clock
        self._failure: Failure | None = None
        self._next = 0.0
        self.probing: asyncio.Task[None] | None = None

    def failed(self, failure: Failure) -> None:
        """A write failed, and the next one would as well."""
        if self._failure is None:
            self._next = self._clock() + PAUSE
        self._failure = failure

    def worked(self) -> None:
        """A write was kept."""
        self._failure = None

    def check(self) -> None:
        """Raises the last Failure at once; then, at most once in PAUSE seconds, a probe starts behind it."""
        if self._failure is None:
            return
        if self.probing is None and self._clock() >= self._next:
            self._next = self._clock() + PAUSE
            self.probing = asyncio.get_running_loop().create_task(self._run_probe())
        raise Failure(self._failure.code, self._failure.message)

    async def _run_probe(self) -> None:
        try:
            await self._probe()
        except Failure:
            pass  # it marked the store as failed again
        finally:
            self.probing = None

    async def close(self) -> None:
        """Wait for a probe that runs."""
        if self.probing is not None:
            await asyncio.wait([self.probing])
