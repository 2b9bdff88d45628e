"""ProxiedTransport: HTTP/1.1 to upstreams through an outbound proxy, over aiohttp's client."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import aiohttp

from agentic_proxy.executors.base import UpstreamResponse, reason_of
from agentic_proxy.executors.sockets import open_socket
from agentic_proxy.executors.tls import client_context
from translators.failure import Failure

READ_BUFFER = 256 << 10
IDENTITY = {"Accept-Encoding": "identity"}
DRAIN_SECONDS = 0.5
DRAIN_BYTES = 64 << 10
"""How long, and for how many bytes, the rest of a body that nobody needs is read to keep its connection."""


class _Response:
    """One upstream answer."""

    def __init__(self, response: aiohttp.ClientResponse, transport: ProxiedTransport) -> None:
        self._response = response
        self._transport = transport
        self.status = response.status
        self._closed = False

    @property
    def headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self._response.headers.items()}

    async def read_some(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise Failure(
                "upstream_closed", "The upstream connection broke before the response was complete."
            ) from error

    async def read(self, limit: int) -> bytes:
        body = bytearray()
        while len(body) < limit:
            chunk = await self.read_some()
            if not chunk:
                break
            body += chunk
        return bytes(body[:limit])

    def finish(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._transport.finish_later(self._response)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class ProxiedTransport:
    """``connect`` is the limit for a connection in seconds; bodies have no total limit (a model may think for long)."""

    def __init__(self, connect: float) -> None:
        self._connect = connect
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, *, proxy: str | None = None
    ) -> UpstreamResponse:
        """Send a request; returns once the answer's head is there.

        Raises Failure ``upstream_unreachable`` (``retry_same``: nothing of an answer was seen).
        """
        return await self._request("POST", url, headers, body, proxy, None)

    async def get(
        self, url: str, headers: dict[str, str], *, proxy: str | None = None, timeout: float
    ) -> UpstreamResponse:
        """Like ``post``, with a limit in seconds for the whole exchange."""
        return await self._request("GET", url, headers, None, proxy, timeout)

    async def close(self) -> None:
        """Close all connections."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def finish_later(self, response: aiohttp.ClientResponse) -> None:
        """Read the rest of a body that ought to end now, so that its connection can be used again."""
        task = asyncio.get_running_loop().create_task(_drain(response))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _request(
        self, method: str, url: str, headers: dict[str, str], body: bytes | None, proxy: str | None, total: float | None
    ) -> UpstreamResponse:
        options: dict[str, Any] = {"proxy": proxy} if proxy else {}
        if url.startswith("https:"):
            options["ssl"] = client_context()
        if total is not None:
            options["timeout"] = aiohttp.ClientTimeout(total=total, connect=self._connect)
        try:
            response = await self._client().request(
                method, url, headers={**headers, **IDENTITY}, data=body, allow_redirects=False, **options
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            text = _describe(error, self._connect)
            raise Failure("upstream_unreachable", text, retry_same=_may_retry(error)) from error
        return _Response(response, self)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=60, ttl_dns_cache=60, socket_factory=open_socket
                ),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect),
                read_bufsize=READ_BUFFER,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent",),
            )
        return self._session


async def _drain(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            room = DRAIN_BYTES
            while room > 0 and not response.content.at_eof():
                room -= len(await response.content.readany())
    except (aiohttp.ClientError, OSError, TimeoutError):
        pass
    finally:
        response.close()


def _may_retry(error: BaseException) -> bool:
    """Whether the same candidate may be asked again: it refused, or closed the connection before the head."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error.errno == errno.ECONNREFUSED
    return isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)


def _describe(error: BaseException, connect: float) -> str:
    """What happened, without addresses that a proxy in between may have put into the text."""
    if isinstance(error, TimeoutError):
        return f"could not be reached within {connect:g} seconds."
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        return "could not be reached: its TLS certificate or handshake was refused."
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "could not be reached: its host name does not resolve."
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "could not be reached: the outbound proxy refused the connection."
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"could not be reached: the outbound proxy answered HTTP {error.status}."
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"could not be reached: {reason_of(error.os_error)}."
    if isinstance(error, aiohttp.ClientResponseError):
        return "answered with something that is not HTTP."
    return "closed the connection before it answered."
