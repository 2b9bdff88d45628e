"""Connection: one HTTP/1.1 connection to an upstream, with llhttp as its parser.

A socket read costs one call, no task switch and no stream object.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import cast

import httptools

from translators.failure import Failure

HIGH_WATER = 256 << 10
"""Bytes waiting to be read by the turn before the socket is no longer read."""
HEADER_LIMIT = 64 << 10
INFLATED_LIMIT = 64 << 20
DRAIN_SECONDS = 0.5
"""How long a connection may take to finish a body that nobody reads any more before it is dropped."""
IDLE_SECONDS = 60.0


class Connection(asyncio.Protocol):
    """One connection; at most one exchange at a time."""

    def __init__(self, pool: list[Connection], all_open: set[Connection], clock: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = pool
        self._all_open = all_open
        self._clock = clock
        self._released = 0.0
        self._parser = httptools.HttpResponseParser(self)
        self._timer: asyncio.TimerHandle | None = None
        self._lost = False
        self._paused = False
        self.transport: asyncio.Transport
        self._reset()

    def _reset(self) -> None:
        self.headers: dict[str, str] = {}
        self.status = 0
        self.error: Failure | None = None
        self.ended = False
        self.busy = False
        self.abandoned = False
        self._keep = False
        self._header_bytes = 0
        self._body: list[bytes] = []
        self.waiting = 0
        self._waiter: asyncio.Future[None] | None = None
        self._inflate: zlib._Decompress | None = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._all_open.add(self)

    def data_received(self, data: bytes) -> None:
        if not self.busy or self.ended:
            self.transport.abort()  # bytes that nobody asked for
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # What a callback raised stands behind the parser's own error.
            cause = error.__context__
            self._fail(cause if isinstance(cause, Failure) else _not_http(self.status))
        if self.waiting > HIGH_WATER and not self._paused and not self.abandoned:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._timer is not None:
            self._timer.cancel()
        self._all_open.discard(self)
        if self in self._pool:
            self._pool.remove(self)
        if self.busy and not self.ended:
            bounded = "content-length" in self.headers or "transfer-encoding" in self.headers
            if self.status and exc is None and not bounded:
                self.ended = True
            else:
                self._fail(_broken(self.status))
        self._wake()

    # llhttp's side

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > HEADER_LIMIT:
            raise Failure("upstream_too_large", "sent response headers of more than 64 KiB.")
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = {}
            return
        coding = self.headers.get("content-encoding", "identity").lower()
        if coding in ("gzip", "deflate"):
            self._inflate = zlib.decompressobj(47 if coding == "gzip" else 15)
        elif coding != "identity":
            raise Failure("upstream_invalid_response", "answered in a content encoding that was not asked for.")
        self.status = status

    def on_body(self, data: bytes) -> None:
        if self.abandoned:
            return
        if self._inflate is None:
            self._body.append(data)
            self.waiting += len(data)
            return
        while data:
            self._body.append(self._inflate.decompress(data, HIGH_WATER))
            self.waiting += len(self._body[-1])
            data = self._inflate.unconsumed_tail
            if self.waiting > INFLATED_LIMIT:
                text = "The upstream sent compressed data that unfolds to more than 64 MiB at once."
                raise Failure("upstream_too_large", text)

    def on_message_complete(self) -> None:
        if not self.status:
            return  # the end of a 1xx message
        self.ended = True
        # llhttp forgets the answer's headers right after this call.
        self._keep = self._parser.should_keep_alive()
        if self.abandoned:
            self.release()

    # the exchange's side

    def start(self, request: bytes) -> None:
        """Send one request."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._reset()
        self.busy = True
        self.transport.write(request)

    async def wait(self) -> None:
        """Until something has changed: the head, body bytes, the end, or a failure."""
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def take(self) -> bytes:
        """What has been received and not read yet."""
        body, self._body, self.waiting = self._body, [], 0
        if self._paused and not self._lost:
            self._paused = False
            self.transport.resume_reading()
        return body[0] if len(body) == 1 else b"".join(body)

    @property
    def usable(self) -> bool:
        """Whether another request may be sent on this connection. Its timer stands still while the machine sleeps."""
        rested = self._clock() - self._released
        return not self._lost and not self.transport.is_closing() and rested < IDLE_SECONDS

    def release(self) -> None:
        """The exchange is over: keep the connection, or finish its body first, or drop it."""
        if self._lost:
            return
        if self.ended and self.error is None and self._keep:
            self.busy = False
            self._body.clear()
            self._released = self._clock()
            self._expire(IDLE_SECONDS)
            self._pool.append(self)
        elif self.ended or self.error is not None or not self.status or self.abandoned:
            self.transport.abort()
        else:
            self.abandoned = True
            self.take()
            self._expire(DRAIN_SECONDS)

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _expire(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self.transport.abort)

    def _fail(self, failure: Failure) -> None:
        self.error = self.error or failure
        self.transport.abort()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done() and (self.status or self.error is not None or self._lost):
            waiter.set_result(None)


def _broken(status: int) -> Failure:
    if status:
        return Failure("upstream_closed", "The upstream connection broke before the response was complete.")
    return Failure("upstream_unreachable", "closed the connection before it answered.", retry_same=True)


def _not_http(status: int) -> Failure:
    if status:
        return Failure("upstream_closed", "The upstream connection sent bytes that are not HTTP.")
    return Failure("upstream_unreachable", "answered with something that is not HTTP.")
