"""The load generator: keep-alive connections, and the four ways to measure what is at their other end."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

from .processes import BenchError, settled, spent
from .workloads import PACE_MS, Size

FIRST_DELTA = b"output_text.delta"
ENDINGS = (b'"response.completed"', b"[DONE]", b'"message_stop"')
DELTA_KINDS = ("response.output_text.delta", "response.custom_tool_call_input.delta")
TAIL = 4
"""Chunks that are kept of a stream: its ending is in the last few."""
ANSWER_LIMIT = 120.0
COLD = 5
"""Requests to each subject before those that count in T."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured in one workload: an address and the request that asks it for the scenario."""

    name: str
    url: str
    path: str
    body: bytes
    pid: int | None = None
    """None for the upstream itself, asked directly."""

    def request(self) -> bytes:
        """The bytes of the HTTP request."""
        host = urlsplit(self.url).netloc
        head = (
            f"POST {self.path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: */*\r\n"
            f"authorization: Bearer sk-bench\r\ncontent-length: {len(self.body)}\r\n\r\n"
        )
        return head.encode() + self.body


@dataclass(slots=True)
class Answer:
    """One answer, as far as it has come."""

    status: int = 0
    events: int = 0
    sent: float = field(default_factory=time.perf_counter)
    first_delta: float | None = None
    """Seconds from the request to the first chunk with a delta."""
    tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=TAIL))
    whole: list[bytes] | None = None

    @property
    def ending(self) -> bytes:
        return b"".join(self.tail)


class Connection(asyncio.Protocol):
    """A keep-alive connection with one request at a time; it connects again when the other side closed it."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.request = subject.request()
        self.transport: asyncio.Transport | None = None
        self.answer = Answer()
        self.done: asyncio.Future[Answer] | None = None

    async def connect(self) -> None:
        """Open the connection. Raises BenchError when nobody listens."""
        address = urlsplit(self.subject.url)
        assert address.hostname is not None
        assert address.port is not None
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self, address.hostname, address.port)
        except OSError as error:
            raise BenchError(f"{self.subject.name} takes no connection: {error.strerror}") from None

    async def ask(self, *, keep: bool = False) -> Answer:
        """Send the request and wait for the whole answer, which is kept if ``keep``.

        Raises BenchError for any status but 200, a lost connection, and silence for 120 s.
        """
        if self.transport is None or self.transport.is_closing():
            await self.connect()
        assert self.transport is not None
        self.done = asyncio.get_running_loop().create_future()
        self.answer = Answer(whole=[] if keep else None)
        self.transport.write(self.request)
        try:
            answer = await asyncio.wait_for(self.done, ANSWER_LIMIT)
        except TimeoutError:
            raise BenchError(f"{self.subject.name} did not finish an answer in {ANSWER_LIMIT:.0f} s") from None
        if answer.status != 200:
            said = answer.ending[:300].decode(errors="replace")
            raise BenchError(f"{self.subject.name} answered HTTP {answer.status}: {said}")
        return answer

    async def stream(self, *, keep: bool = False) -> Answer:
        """As ``ask``; raises BenchError also when the stream does not end in a terminal event."""
        answer = await self.ask(keep=keep)
        if not any(ending in answer.ending for ending in ENDINGS):
            raise BenchError(f"{self.subject.name} ended a stream with {answer.ending[-300:]!r}")
        return answer

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one by shape only
        self.parser = httptools.HttpResponseParser(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self.done is not None and not self.done.done():
            said = f"{self.subject.name} closed a connection after {self.answer.events} events"
            self.done.set_exception(BenchError(said))

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_headers_complete(self) -> None:
        self.answer.status = self.parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        answer = self.answer
        answer.events += body.count(b"\n\n")
        answer.tail.append(body)
        if answer.first_delta is None and FIRST_DELTA in body:
            answer.first_delta = time.perf_counter() - answer.sent
        if answer.whole is not None:
            answer.whole.append(body)

    def on_message_complete(self) -> None:
        if self.transport is not None and not self.parser.should_keep_alive():
            self.transport.close()
            self.transport = None
        if self.done is not None and not self.done.done():
            self.done.set_result(self.answer)


async def together(works: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Do all of it at a time. Raises the first error alone; the rest is given up."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def connections(subject: Subject, count: int) -> list[Connection]:
    opened = [Connection(subject) for _ in range(count)]
    for connection in opened:
        await connection.connect()
    return opened


def streamed_text(body: bytes) -> str:
    """The text, or the input of a custom call, that the deltas of a stream in any format add up to."""
    return "".join(
        _said(json.loads(line[len(b"data: ") :])) for line in body.split(b"\n") if line.startswith(b"data: {")
    )


def _said(event: dict[str, Any]) -> str:
    if event.get("type") in DELTA_KINDS:
        return str(event["delta"])
    if event.get("type") == "content_block_delta":
        return str(event["delta"]["text"])
    return "".join(choice["delta"].get("content") or "" for choice in event.get("choices", ()))


async def check(subject: Subject, expected: str) -> None:
    """Ask once. Raises BenchError when the deltas are not the scripted answer: a wrong answer has no speed."""
    connection = Connection(subject)
    answer = await connection.stream(keep=True)
    connection.close()
    received = streamed_text(b"".join(answer.whole or ()))
    if received != expected:
        said = f"{len(received)} characters, {received[:60]!r}"
        raise BenchError(f"{subject.name} streamed another answer than the upstream's: {said}")


async def flood(subject: Subject, size: Size, events: int) -> float:
    """CPU microseconds for each of the ``events`` of an upstream stream; streams as fast as they go."""
    opened = await connections(subject, size.streams)
    assert subject.pid is not None
    before = await settled(subject.pid)
    await together(connection.stream() for connection in opened)
    after = await settled(subject.pid)
    for connection in opened:
        connection.close()
    return after.since(before) / (size.streams * events) * 1e6


async def requests(subject: Subject, size: Size, *, stream: bool) -> float:
    """CPU milliseconds for one request."""
    opened = await connections(subject, size.concurrency)
    assert subject.pid is not None
    left = size.requests

    async def work(connection: Connection) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await (connection.stream() if stream else connection.ask())

    before = await settled(subject.pid)
    await together(work(connection) for connection in opened)
    after = await settled(subject.pid)
    for connection in opened:
        connection.close()
    return after.since(before) / size.requests * 1e3


async def first_deltas(direct: Subject, subjects: list[Subject], size: Size) -> dict[str, float]:
    """Milliseconds that each subject adds before the first delta: the median of its difference to ``direct``.

    Direct and the subjects take turns, request by request, so that what disturbs the machine disturbs all of them.
    """
    base = Connection(direct)
    through = {subject.name: Connection(subject) for subject in subjects}
    added: dict[str, list[float]] = {name: [] for name in through}
    for number in range(-COLD, size.first_deltas):
        start = (await base.stream()).first_delta
        for name, connection in through.items():
            first = (await connection.stream()).first_delta
            if first is None or start is None:
                raise BenchError(f"{name} sent no delta")
            if number >= 0:
                added[name].append(first - start)
    for connection in (base, *through.values()):
        connection.close()
    return {name: median(times) * 1e3 for name, times in added.items()}


async def paced(subject: Subject, size: Size) -> float:
    """CPU microseconds for an event that comes alone, on streams of 50 events a second.

    The streams start one after the other within the time between two events, and are cut off in the end.
    """
    opened = await connections(subject, size.streams)
    assert subject.pid is not None
    asked = []
    for connection in opened:
        asked.append(asyncio.ensure_future(connection.stream()))
        await asyncio.sleep(PACE_MS / 1000 / size.streams)
    await asyncio.sleep(0.2)
    start, before = sum(connection.answer.events for connection in opened), spent(subject.pid)
    await asyncio.sleep(size.seconds)
    end, after = sum(connection.answer.events for connection in opened), spent(subject.pid)
    broken = [task.exception() for task in asked if task.done()]
    for connection in opened:
        connection.close()
    await asyncio.gather(*asked, return_exceptions=True)
    await settled(subject.pid)
    if broken or end == start:
        raise BenchError(f"{subject.name} did not hold {size.streams} paced streams: {broken[:1]}")
    return after.since(before) / (end - start) * 1e6
