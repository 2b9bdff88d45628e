"""A raw upstream: a TCP server in the test's own loop that plays exact bytes and breaks where it is told to.

    async with RawUpstream((OK, chunk(b"data: ..."), RESET)) as upstream:
        ...                       # upstream.url, upstream.requests, upstream.open

Each request plays the next script, the last one again and again. A script that ends without CLOSE or RESET leaves the
connection open for the next request. A ``Seen`` step waits until the client's sink holds those bytes, so that what the
upstream sends next comes in a socket read of its own. ``silent`` is called when a script has come to its STALL.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Self, TypeAlias

LIMIT = 30.0
"""Seconds after which a test gives up waiting for what is certain to come. Nothing is measured by it."""


class End(Enum):
    """How a script may end other than with the connection left open."""

    CLOSE = "close"
    RESET = "reset"
    STALL = "stall"
    """Say nothing more until the other side closes."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Go on when the client has been sent these bytes (at once for a client that takes no stream)."""

    marker: bytes


Step: TypeAlias = bytes | Seen | End
Script: TypeAlias = tuple[Step, ...]
CLOSE, RESET, STALL = End.CLOSE, End.RESET, End.STALL

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """A whole HTTP answer with a Content-Length."""
    lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {kind}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass(frozen=True, slots=True)
class Received:
    """One request: its first line, header lines in order, body, and the number of the connection it came on."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int

    def header(self, name: str) -> list[str]:
        """All values of a header."""
        return [value for key, value in self.headers if key.lower() == name]


class RawUpstream:
    """The server. ``open`` holds the numbers of connections the other side has not closed yet.

    ``greeting`` is sent as soon as anything arrives, instead of reading HTTP: a port that speaks something else.
    """

    def __init__(self, *scripts: Script, greeting: bytes | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.open: set[int] = set()
        self.connections = 0
        self.seen: Callable[[bytes], Awaitable[None]] | None = None
        self.silent: Callable[[], None] | None = None
        self.port = 0
        self._scripts = scripts
        self._greeting = greeting
        self._tls = tls
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 20, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until(self, condition: Callable[[RawUpstream], bool]) -> None:
        """Wait for a change that makes ``condition`` true; raises TimeoutError after ``LIMIT`` seconds."""
        async with asyncio.timeout(LIMIT), self._changed:
            await self._changed.wait_for(lambda: condition(self))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        number = self.connections
        self.connections += 1
        self.open.add(number)
        try:
            await self._connection(number, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open.discard(number)
            writer.close()
            with contextlib.suppress(asyncio.CancelledError):
                await self._notify()

    async def _connection(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._greeting is not None:
            await reader.read(1)
            writer.write(self._greeting)
            return
        while True:
            self.requests.append(await read_request(reader, number))
            script = self._scripts[min(len(self.requests), len(self._scripts)) - 1]
            await self._notify()
            for step in script:
                if not await self._step(step, reader, writer):
                    return

    async def _step(self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif isinstance(step, Seen):
            return await self._await_marker(step.marker, reader)
        elif step is RESET:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        elif step is STALL:
            if self.silent is not None:
                self.silent()
            await reader.read()
            return False
        else:
            return False
        return True

    async def _await_marker(self, marker: bytes, reader: asyncio.StreamReader) -> bool:
        """Whether to go on: False when the other side closed first."""
        if self.seen is None:
            return True
        seen, closed = asyncio.ensure_future(self.seen(marker)), asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((seen, closed), return_when=asyncio.FIRST_COMPLETED)
            return not closed.done()
        finally:
            for each in (seen, closed):
                each.cancel()
            await asyncio.gather(seen, closed, return_exceptions=True)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


async def read_request(reader: asyncio.StreamReader, connection: int) -> Received:
    """One whole request with a Content-Length. Raises IncompleteReadError at the end of the connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    headers = tuple((name, value.strip()) for name, _, value in (text.partition(":") for text in lines))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Received(line, headers, await reader.readexactly(length), connection)
