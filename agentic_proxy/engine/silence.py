"""Silence: a timer that notices when a client has heard nothing for a while. It costs nothing per event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from agentic_proxy.config.model import Timeouts

log = structlog.get_logger("agentic_proxy.silence")


class Silence:
    """Calls ``fill`` after ``keepalive_first`` seconds without a write, then after every ``keepalive`` seconds of it.

    ``fill`` runs in a task of its own; ``stop`` ends timer and task. A fault in ``fill`` is logged and ends nothing.
    """

    def __init__(self, timeouts: Timeouts, fill: Callable[[], Awaitable[None]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._interval = timeouts.keepalive
        self._wait = timeouts.keepalive_first
        self._fill = fill
        self._heard = self._loop.time()
        self._task: asyncio.Future[None] | None = None
        self._timer = self._loop.call_later(self._wait, self._check)

    def touch(self) -> None:
        """The client has just been sent something."""
        self._heard = self._loop.time()
        self._wait = self._interval

    @property
    def busy(self) -> bool:
        """Whether a filler is being written."""
        return self._task is not None and not self._task.done()

    async def idle(self) -> None:
        """Wait until no filler is being written."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    def stop(self) -> None:
        """No more fillers."""
        self._timer.cancel()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def _check(self) -> None:
        left = self._heard + self._wait - self._loop.time()
        if left <= 0:
            left = self._wait = self._interval
            if self._task is None or self._task.done():
                self._task = asyncio.ensure_future(self._run())
        self._timer = self._loop.call_later(left, self._check)

    async def _run(self) -> None:
        try:
            await self._fill()
        except (ConnectionError, asyncio.CancelledError):
            # The turn itself notices that its client is gone.
            pass
        except Exception:
            log.exception("keepalive_failed")
