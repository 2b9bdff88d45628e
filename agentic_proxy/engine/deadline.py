"""Deadline: ends a wait that has become too long, at the price of one timestamp per socket read.

``asyncio.timeout`` cancels and makes a timer for every rescheduling; a stream is rescheduled at every read. Here one
timer looks now and then whether the last touch is too long ago.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """An async context: cancels its task ``seconds`` after entering or after the last ``touch`` and raises
    TimeoutError in place of that cancellation. ``pause`` suspends it until the next touch. Raises RuntimeError in place
    of a cancellation that is none of its task."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = seconds
        self._since: float | None = self._loop.time()
        self._task = asyncio.current_task()
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = 0.0

    async def __aenter__(self) -> Deadline:
        self._arm(self._limit)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        task = self._task
        if self._expired and task is not None and task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error
        if kind is asyncio.CancelledError and task is not None and not task.cancelling():
            # Nobody wants this task to end: something that it waited for was cancelled, by mistake.
            raise RuntimeError("what was waited for was cancelled, and nobody had asked for that") from error

    def touch(self, seconds: float) -> None:
        """Something came: from now on at most ``seconds`` of waiting."""
        now = self._loop.time()
        self._since, self._limit = now, seconds
        if now + seconds < self._set_for:
            self._arm(seconds)

    def pause(self) -> None:
        """Somebody else is being waited for."""
        self._since = None

    def _arm(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._set_for = self._loop.time() + seconds
        self._timer = self._loop.call_later(seconds, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._since is None:
            self._arm(self._limit)
            return
        left = self._since + self._limit - self._loop.time()
        if left > 0:
            self._arm(left)
        elif self._task is not None:
            self._expired = True
            self._task.cancel()
