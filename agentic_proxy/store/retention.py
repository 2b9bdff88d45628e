"""Retention: at start and every ten minutes the store is pruned by age and size."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from agentic_proxy.config.model import Retention
from agentic_proxy.observe.log import get_logger
from agentic_proxy.store.base import Store
from translators.failure import Failure

_log = get_logger("agentic_proxy.store")
PAUSE = 600.0
DAY = 86400
NO_LIMIT = 1 << 62


async def prune(store: Store, retention: Retention, now: float) -> int:
    """Remove what ``retention`` no longer keeps; how many responses and conversations went. 0 means no limit."""
    older_than = max(0, int(now) - retention.days * DAY) if retention.days else 0
    return await store.prune(older_than, retention.size or NO_LIMIT)


class Keeper:
    """Prunes a store until it is closed. ``retention`` may change, and counts from the next time on."""

    def __init__(self, store: Store, retention: Retention, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self.retention = retention
        self._clock = clock
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            try:
                await prune(self._store, self.retention, self._clock())
            except Failure as failure:
                _log.warning("store not pruned", error=failure.message)
            await asyncio.sleep(PAUSE)

    async def close(self) -> None:
        """Stop. A transaction that runs is finished by the store."""
        self._task.cancel()
        await asyncio.wait([self._task])
