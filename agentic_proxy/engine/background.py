"""Background: responses that are made whether or not their client is there.

A request with ``background: true`` is checked like any other, kept in the store as begun, and answered at once; a task
of the process makes the response. It can be polled, followed, cancelled and deleted from any proxy on the same store.
When its process is gone it ends as failed, ``server_restarted``.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson
import structlog

from agentic_proxy.engine.owner import LEASE, Lease, is_dead, is_living
from agentic_proxy.engine.persist import dump
from agentic_proxy.engine.replay import replay
from agentic_proxy.engine.running import Running
from agentic_proxy.engine.turn import CANCELLED, SHUTDOWN, Turn, TurnRequest
from agentic_proxy.store.base import FinishedTurn, ResponseRow, Status, Store
from translators.events import Json
from translators.failure import Failure

if TYPE_CHECKING:
    from agentic_proxy.engine.delivery import Sink
    from agentic_proxy.engine.engine import Engine

MAX_RUNNING = 256
"""Background responses of one process at a time."""
REMEMBERED = 600.0
"""Seconds that a finished response with ``store: false`` can still be polled (public documentation of OpenAI's
background mode: roughly ten minutes)."""
FINAL = frozenset({"completed", "incomplete", "failed", "cancelled"})
RESTARTED = "The proxy that made this response was stopped before it ended. Send the request again."

log = structlog.get_logger("agentic_proxy.background")


class Background:
    """The background responses of a process. ``clock`` gives Unix seconds."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._running: dict[str, Running] = {}
        self._lease = Lease(store, self.fail_orphans, clock)
        self._timers: set[asyncio.TimerHandle] = set()
        self._spared: dict[str, float] = {}
        """When an owner was given another lease, in seconds of a clock that nobody sets."""
        self._closing = False

    async def create(self, engine: Engine, request: TurnRequest, sink: Sink | None) -> Json:
        """Begin a response on ``engine``; returns it as queued, or follows it to its end with a sink. Raises Failure
        for whatever is wrong before it begins."""
        if self._closing:
            raise Failure("server_shutdown", "The proxy is shutting down: send the request again.", retry_after=1)
        if sum(not each.done for each in self._running.values()) >= MAX_RUNNING:
            raise Failure("rate_limit_exceeded", f"Already {MAX_RUNNING} background responses are running here.")
        running = Running(engine.config.limits.retained)
        turn = Turn(engine, request, running)
        await turn.prepare()
        queued = running.response = turn.snapshot("queued")
        if turn.stored:
            await self._lease.take()
            try:
                begun = turn.begun()
                await engine.store.begin(begun.row, begun.input, self._lease.owner)
            except BaseException:
                self._lease.give_back()
                raise
            running.keep_in(engine.store)
        self._running[running.id] = running
        running.task = asyncio.get_running_loop().create_task(self._make(turn, running))
        await asyncio.sleep(0)  # a task that never began cannot end its response when it is cancelled
        if sink is not None:
            await running.follow(sink, -1)
            return running.response
        return queued

    async def _make(self, turn: Turn, running: Running) -> None:
        running.response = turn.snapshot("in_progress")
        response: Json = {**running.response, "status": "failed"}
        try:
            with turn.engine.holds:
                response = await turn.run()
        except BaseException:
            log.exception("background_response_broke", response_id=running.id)
        finally:
            await running.finish(response)
            if not turn.stored:
                self._forget_later(running.id)
            elif turn.kept:
                self._release(running)
            else:
                running.unkept = True

    def _release(self, running: Running) -> None:
        """The store tells of it from now on."""
        if self._running.pop(running.id, None) is not None:
            self._lease.give_back()

    def _forget_later(self, response_id: str) -> None:
        def forget() -> None:
            self._timers.discard(timer)
            self._running.pop(response_id, None)

        timer = asyncio.get_running_loop().call_later(REMEMBERED, forget)
        self._timers.add(timer)

    async def response(self, response_id: str) -> bytes | None:
        """A response as it stands, as JSON: any stored one, or a background one of this process."""
        running = self._running.get(response_id)
        if running is not None:
            return dump(running.response)
        row = await self._row(response_id)
        return row.data if row is not None else None

    async def follow(self, response_id: str, after: int, sink: Sink, keepalive: float) -> None:
        """Send the events of a background response with numbers above ``after``, and while another process is silent
        about its own a sign of life every ``keepalive`` seconds. Raises Failure ``response_not_found``, or
        ``invalid_request_error`` for a response that was not made in the background."""
        running = self._running.get(response_id)
        if running is not None:
            await running.follow(sink, after)
            return
        row = await self._row(response_id)
        if row is None:
            raise unknown(response_id)
        if not row.background:
            text = "This response cannot be streamed because it was not created with background=true."
            raise Failure("invalid_request_error", text, param="stream")
        await replay(self._store, row, after, sink, keepalive)

    async def cancel(self, response_id: str) -> bytes:
        """Cancel a background response; returns it as it then is, also when it had ended before. Raises Failure
        ``response_not_found``, or ``invalid_request_error`` for one that was not made in the background."""
        running = self._running.get(response_id)
        if running is not None:
            await self._stop(running)
            return dump(running.response)
        row = await self._row(response_id)
        if row is None:
            raise unknown(response_id)
        if not row.background:
            text = "Only a response created with background=true can be cancelled."
            raise Failure("invalid_request_error", text, param="response_id")
        if row.status in FINAL:
            return row.data
        await self._end(row, "cancelled", None)
        return (await self._row(response_id) or row).data

    async def delete(self, response_id: str) -> bool:
        """Delete a response, after its cancellation when it is still being made; False when there is none."""
        running = self._running.get(response_id)
        if running is not None:
            await self._stop(running)
            if running.unkept:
                self._release(running)
            elif self._running.pop(response_id, None) is not None:
                return True
        return await self._store.delete_response(response_id)

    async def _stop(self, running: Running) -> None:
        running.stop(CANCELLED)
        if running.task is not None:
            await asyncio.wait([running.task])

    async def _row(self, response_id: str) -> ResponseRow | None:
        row = await self._store.response(response_id)
        if row is not None and row.background and row.status not in FINAL:
            # Somebody else makes it, or nobody any more.
            await self.fail_orphans()
            row = await self._store.response(response_id)
        return row

    async def fail_orphans(self) -> None:
        """End the responses whose process is gone, and our own whose end the store did not take when it came. Raises
        Failure ``store_failed``."""
        for running in [each for each in self._running.values() if each.unkept]:
            kept = await self._store.response(running.id)
            if kept is not None and kept.status not in FINAL:
                await self._end(kept, running.response["status"], running.response["error"])
            self._release(running)
        now = int(self._clock())
        orphans = [row for row in await self._store.orphans(now) if row.id not in self._running]
        if orphans and await self._spare(now):
            orphans = [row for row in await self._store.orphans(now) if row.id not in self._running]
        for row in orphans:
            await self._end(row, "failed", {"code": "server_restarted", "message": RESTARTED})

    async def _spare(self, now: int) -> bool:
        """Give every other process of this machine that lives, and whose lease has ended, one more: the machine has
        slept, or its clock was set. Not twice in a row, for what a living process has given up must end. Returns
        whether there was one."""
        late = {*await self._store.owners(1)} - {*await self._store.owners(now), self._lease.owner}
        since = time.monotonic() - 2 * LEASE
        spared = [owner for owner in late if self._spared.get(owner, -math.inf) < since and is_living(owner)]
        for owner in spared:
            self._spared[owner] = time.monotonic()
            await self._store.renew(owner, now + LEASE)
        return bool(spared)

    async def recover(self) -> None:
        """At the start: what a dead process of this machine left does not wait for the end of its lease."""
        try:
            for owner in await self._store.owners(int(self._clock())):
                if is_dead(owner):
                    await self._store.renew(owner, 0)
            await self.fail_orphans()
        except Failure as failure:
            log.warning("orphans_not_found", code=failure.code)

    async def _end(self, row: ResponseRow, status: Status, error: Json | None) -> None:
        response = {**orjson.loads(row.data), "status": status, "error": error}
        await self._store.commit(FinishedTurn(replace(row, status=status, data=dump(response)), (), ()))

    async def close(self, drain: float) -> None:
        """Take nothing more, let what runs finish for ``drain`` seconds, end the rest as failed."""
        self._closing = True
        made = {each.task: each for each in self._running.values() if each.task is not None}
        if made:
            _, left = await asyncio.wait(made, timeout=drain)
            for task in left:
                made[task].stop(SHUTDOWN)
            if left:
                await asyncio.wait(left)
        for timer in self._timers:
            timer.cancel()
        await self._lease.end()


def unknown(response_id: str) -> Failure:
    """The Failure for a response that is not there."""
    return Failure("response_not_found", f"Response with id {response_id[:80]!r} not found.", param="response_id")
