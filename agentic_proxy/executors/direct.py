"""DirectTransport: HTTP/1.1 to upstreams without a proxy in between, over kept-alive connections.

What one socket read brought becomes one ``read_some``.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohappyeyeballs

from agentic_proxy.executors.base import UpstreamResponse, reason_of
from agentic_proxy.executors.connection import Connection
from agentic_proxy.executors.sockets import open_socket
from agentic_proxy.executors.tls import client_context
from translators.failure import Failure


class Origin(NamedTuple):
    """Where connections of one pool lead to."""

    host: str
    port: int
    tls: bool


class _Response:
    """One upstream answer on its connection."""

    __slots__ = ("_closed", "_connection", "headers", "status")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = False
        self.status = connection.status
        self.headers = connection.headers

    async def read_some(self) -> bytes:
        connection = self._connection
        while True:
            if connection.waiting:
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
    """``connect`` limits a connection's set-up in seconds; bodies have no total limit (a model may think for long).
    ``clock`` gives Unix seconds."""

    def __init__(self, connect: float, clock: Callable[[], float] = time.time) -> None:
        self._connect = connect
        self._clock = clock
        self._pools: dict[Origin, list[Connection]] = {}
        self._origins: dict[str, tuple[Origin, bytes]] = {}
        self._open: set[Connection] = set()

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
            # Whatever ended this connection is likely to have ended those that rest beside it.
            pool = self._pools[origin]
            while pool:
                pool.pop().drop()
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

    async def _acquire(self, origin: Origin) -> Connection:
        pool = self._pools.setdefault(origin, [])
        while pool:
            connection = pool.pop()
            if connection.usable:
                return connection
            connection.drop()
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

    async def _dial(self, origin: Origin, pool: list[Connection]) -> Connection:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        sock = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=0.25, socket_factory=open_socket)
        try:
            context = client_context() if origin.tls else None
            _, connection = await loop.create_connection(
                lambda: Connection(pool, self._open, self._clock),
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
