"""DirectTransport: HTTP/1.1 to upstreams without a proxy in between, over kept-alive connections.

One protocol object per connection with llhttp as its parser: a socket read costs one call, no task switch and no
stream object. What one read brought becomes one ``read_some``.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import zlib
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
import httptools

from agentic_proxy.executors.base import UpstreamResponse, reason_of
from agentic_proxy.executors.tls import client_context
from translators.failure import Failure

HIGH_WATER = 256 << 10
"""Bytes waiting to be read by the turn before the socket is no longer read."""
HEADER_LIMIT = 64 << 10
INFLATED_LIMIT = 64 << 20
DRAIN_SECONDS = 0.5
"""How long a connection may take to finish a body that nobody reads any more before it is dropped."""
IDLE_SECONDS = 60.0


class Origin(NamedTuple):
    """Where connections of one pool lead to."""

    host: str
    port: int
    tls: bool


class _Connection(asyncio.Protocol):
    """One connection; at most one exchange at a time."""

    def __init__(self, pool: list[_Connection], all_open: set[_Connection]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = pool
        self._all_open = all_open
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
        self._size = 0
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
        if self._size > HIGH_WATER and not self._paused and not self.abandoned:
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
            self._size += len(data)
            return
        while data:
            self._body.append(self._inflate.decompress(data, HIGH_WATER))
            self._size += len(self._body[-1])
            data = self._inflate.unconsumed_tail
            if self._size > INFLATED_LIMIT:
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
        body, self._body, self._size = self._body, [], 0
        if self._paused and not self._lost:
            self._paused = False
            self.transport.resume_reading()
        return body[0] if len(body) == 1 else b"".join(body)

    @property
    def usable(self) -> bool:
        """Whether another request may be sent on this connection."""
        return not self._lost and not self.transport.is_closing()

    def release(self) -> None:
        """The exchange is over: keep the connection, or finish its body first, or drop it."""
        if self._lost:
            return
        if self.ended and self.error is None and self._keep:
            self.busy = False
            self._body.clear()
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


class _Response:
    """One upstream answer on its connection."""

    __slots__ = ("_closed", "_connection", "headers", "status")

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._closed = False
        self.status = connection.status
        self.headers = connection.headers

    async def read_some(self) -> bytes:
        connection = self._connection
        while True:
            if connection._size:
                return connection.take()
            if connection.error is not None:
                raise connection.error
            if connection.ended:
                return b""
            await connection.wait()

    async def read(self, limit: int) -> bytes:
        body = bytearray()
        while len(body) < limit:
            chunk = await self.read_some()
            if not chunk:
                break
            body += chunk
        return bytes(body[:limit])

    def finish(self) -> None:
        if not self._closed:
            self._closed = True
            self._connection.release()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._connection.ended:
                self._connection.release()
            else:
                self._connection.drop()


class DirectTransport:
    """``connect`` limits a connection's set-up in seconds; bodies have no total limit (a model may think for long)."""

    def __init__(self, connect: float) -> None:
        self._connect = connect
        self._pools: dict[Origin, list[_Connection]] = {}
        self._origins: dict[str, tuple[Origin, bytes]] = {}
        self._open: set[_Connection] = set()

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, *, proxy: str | None = None
    ) -> UpstreamResponse:
        """Send a request; returns once the answer's head is there. ``proxy`` must be None.

        Raises Failure ``upstream_unreachable`` (``retry_same``: nothing of an answer was seen).
        """
        return await self._exchange(b"POST", url, headers, body)

    async def get(
        self, url: str, headers: dict[str, str], *, proxy: str | None = None, timeout: float
    ) -> UpstreamResponse:
        """Like ``post`` without a body; ``timeout`` in seconds until the head."""
        try:
            async with asyncio.timeout(timeout):
                return await self._exchange(b"GET", url, headers, None)
        except TimeoutError:
            raise Failure("upstream_timeout", f"did not answer within {timeout:g} seconds.") from None

    @property
    def idle(self) -> int:
        """How many connections wait for another request."""
        return sum(map(len, self._pools.values()))

    async def close(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            connection.drop()
        await asyncio.sleep(0)

    async def _exchange(self, method: bytes, url: str, headers: dict[str, str], body: bytes | None) -> UpstreamResponse:
        origin, target = self._origin(url)
        connection = await self._acquire(origin)
        connection.start(_request(method, target, headers, body))
        try:
            while not connection.status and connection.error is None:
                await connection.wait()
        except asyncio.CancelledError:
            connection.drop()
            raise
        if not connection.status and connection.error is not None:
            raise connection.error
        return _Response(connection)

    def _origin(self, url: str) -> tuple[Origin, bytes]:
        """Origin, and the request line's target with the Host header. Base URLs come from the configuration only."""
        known = self._origins.get(url)
        if known is None:
            parts = urlsplit(url)
            tls = parts.scheme == "https"
            host = parts.hostname or ""
            port = parts.port or (443 if tls else 80)
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            named = f"[{host}]" if ":" in host else host
            authority = named if port == (443 if tls else 80) else f"{named}:{port}"
            target = f"{path} HTTP/1.1\r\nHost: {authority}\r\n".encode()
            known = self._origins[url] = (Origin(host, port, tls), target)
        return known

    async def _acquire(self, origin: Origin) -> _Connection:
        pool = self._pools.setdefault(origin, [])
        while pool:
            connection = pool.pop()
            if connection.usable:
                return connection
        refused = False
        try:
            async with asyncio.timeout(self._connect):
                return await self._dial(origin, pool)
        except TimeoutError:
            text = f"could not be reached within {self._connect:g} seconds."
        except ssl.SSLError:
            text = "could not be reached: its TLS certificate or handshake was refused."
        except socket.gaierror:
            text = "could not be reached: its host name does not resolve."
        except OSError as error:
            refused = error.errno == errno.ECONNREFUSED
            text = f"could not be reached: {reason_of(error)}."
        raise Failure("upstream_unreachable", text, retry_same=refused)

    async def _dial(self, origin: Origin, pool: list[_Connection]) -> _Connection:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        sock = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=0.25)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            context = client_context() if origin.tls else None
            _, connection = await loop.create_connection(
                lambda: _Connection(pool, self._open),
                sock=sock,
                ssl=context,
                server_hostname=origin.host if context else None,
            )
        except BaseException:
            sock.close()
            raise
        return connection


def _request(method: bytes, target: bytes, headers: dict[str, str], body: bytes | None) -> bytes:
    lines = [b"%b %b" % (method, target)]
    for name, value in headers.items():
        lines.append(f"{name}: {value}\r\n".encode("latin-1"))
    lines.append(b"Accept-Encoding: identity\r\n")
    if body is None:
        lines.append(b"\r\n")
    else:
        lines.append(b"Content-Length: %d\r\n\r\n" % len(body))
        lines.append(body)
    return b"".join(lines)


def _broken(status: int) -> Failure:
    if status:
        return Failure("upstream_closed", "The upstream connection broke before the response was complete.")
    return Failure("upstream_unreachable", "closed the connection before it answered.", retry_same=True)


def _not_http(status: int) -> Failure:
    if status:
        return Failure("upstream_closed", "The upstream connection sent bytes that are not HTTP.")
    return Failure("upstream_unreachable", "answered with something that is not HTTP.")
