"""Lanes: the responses of one connection. First in, first out inside a lane, lanes beside each other."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentic_proxy.engine.open_request import OpenRequest
from translators.events import Json
from translators.failure import Failure

MAX_OUTSTANDING = 64
"""Responses of one connection that may be running or waiting."""
BUSY_WAIT = 1.0
"""Seconds after which a client may try again; Codex 0.171.0 gives up at a 429 that names none."""
GONE = "client_gone"
MAX_NAMED = 32
"""Distinct stream ids over a connection's life (public documentation of OpenAI's WebSocket mode)."""
STREAM_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")


@dataclass(slots=True)
class Job:
    """One ``response.create``: its body, its lane, its size in bytes of the message it came in, and what is told of it.
    ``cancelled``: its client changed its mind before it began. ``response_id``: what its response is called, once it
    has begun."""

    body: Json
    stream_id: str | None
    size: int
    opened: OpenRequest
    cancelled: bool = False
    response_id: str | None = None


def stream_id_of(message: Json) -> str | None:
    """The lane that a client message names; None is the default lane. Raises Failure ``invalid_stream_id``."""
    given = message.get("stream_id")
    if given is None:
        return None
    if not isinstance(given, str) or STREAM_ID.fullmatch(given) is None:
        text = "stream_id must be 1 to 256 characters of letters, digits, '_', '-' and '.'."
        raise Failure("invalid_stream_id", text, param="stream_id")
    return given


class _Lane:
    """What waits, and the one job that runs. ``begun``: its task has executed its first step; one that has not must
    not be cancelled, for then nobody would answer."""

    __slots__ = ("begun", "job", "jobs", "task")

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.job: Job | None = None
        self.task: asyncio.Task[None] | None = None
        self.begun = False


class Lanes:
    """Runs each job with ``run`` in a task of its own. ``max_bytes`` limits the requests that are outstanding together;
    one alone may exceed it."""

    def __init__(self, run: Callable[[Job], Coroutine[Any, Any, None]], max_bytes: int) -> None:
        self._run = run
        self._max_bytes = max_bytes
        self._lanes: dict[str | None, _Lane] = {}
        self._outstanding = 0
        self._bytes = 0
        self._unanswered = GONE
        self._idle = asyncio.Event()
        self._idle.set()

    def add(self, job: Job) -> None:
        """Queue a job. Raises Failure: 429 ``rate_limit_exceeded`` when too much is outstanding, 400
        ``websocket_stream_limit_reached`` for one lane too many; neither touches what runs."""
        if self._outstanding >= MAX_OUTSTANDING:
            text = f"Too many responses are outstanding on this connection (at most {MAX_OUTSTANDING})."
            raise Failure("rate_limit_exceeded", text, retry_after=BUSY_WAIT)
        if self._outstanding and self._bytes + job.size > self._max_bytes:
            text = f"The requests outstanding on this connection are too large together (at most {self._max_bytes:,} "
            text += "bytes, limits.retained)."
            raise Failure("rate_limit_exceeded", text, retry_after=BUSY_WAIT)
        lane = self._lanes.get(job.stream_id)
        if lane is None:
            if job.stream_id is not None and len(self._lanes.keys() - {None}) >= MAX_NAMED:
                text = f"This connection has used its {MAX_NAMED} stream ids: reuse one, or open another connection."
                raise Failure("websocket_stream_limit_reached", text, param="stream_id")
            lane = self._lanes[job.stream_id] = _Lane()
        self._outstanding += 1
        self._bytes += job.size
        self._idle.clear()
        lane.jobs.append(job)
        self._next(lane)

    def running(self, response_id: str) -> Job | None:
        """The job whose response has this id, as long as it runs."""
        jobs = (lane.job for lane in self._lanes.values() if lane.job is not None)
        return next((job for job in jobs if job.response_id == response_id), None)

    def cancel(self, stream_id: str | None, reason: str) -> bool:
        """Cancel the running response of a lane; False when none runs there."""
        lane = self._lanes.get(stream_id)
        if lane is None or lane.task is None or lane.job is None:
            return False
        if not lane.begun:
            lane.job.cancelled = True
        elif not lane.task.cancelling():  # a second one would interrupt the ending that the first one causes
            lane.task.cancel(reason)
        return True

    def discard(self, code: str = GONE) -> None:
        """Forget everything that waits, whose records say ``code``; what runs goes on."""
        self._unanswered = code
        for lane in self._lanes.values():
            while lane.jobs:
                self._leave(lane.jobs.popleft())

    async def finished(self) -> None:
        """Wait until nothing runs or waits."""
        await self._idle.wait()

    async def close(self, reason: str | None = None) -> None:
        """Drop what waits, cancel what runs (with ``reason``, the code of a failure, as the message) and wait for its
        end. Without a reason the client is gone."""
        self.discard(reason or GONE)
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            if not task.cancelling():
                task.cancel(reason)
        if tasks:
            await asyncio.wait(tasks)

    def _next(self, lane: _Lane) -> None:
        if lane.task is None and lane.jobs:
            lane.job, lane.begun = lane.jobs.popleft(), False
            lane.task = asyncio.get_running_loop().create_task(self._work(lane, lane.job))
            # Not a finally in the task: one that is cancelled before its first step runs no code at all.
            lane.task.add_done_callback(partial(self._done, lane, lane.job))

    async def _work(self, lane: _Lane, job: Job) -> None:
        lane.begun = True
        await self._run(job)

    def _done(self, lane: _Lane, job: Job, task: asyncio.Task[None]) -> None:
        lane.task = lane.job = None
        self._leave(job)
        self._next(lane)

    def _leave(self, job: Job) -> None:
        self._outstanding -= 1
        self._bytes -= job.size
        if self._outstanding == 0:
            self._idle.set()
        job.opened.failed(Failure(self._unanswered, ""))  # counts only for one that did not begin
