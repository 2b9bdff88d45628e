"""HttpTransport: HTTP/1.1 to upstreams over one pool of kept-alive connections (aiohttp's client)."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import aiohttp

from agentic_proxy.executors.base import UpstreamResponse
from translators.failure import Failure

READ_BUFFER = 256 << 10
DRAIN_SECONDS = 1.0


class _Response:
    """One upstream answer."""

    def __init__(self, response: aiohttp.ClientResponse, transport: HttpTransport) -> None:
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

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._transport.finish_later(self._response)


class HttpTransport:
    """``connect`` is the limit for a connection in seconds; bodies have no total limit (a model may think for long)."""

    def __init__(self, connect: float) -> None:
        self._connect = connect
        self._session: aiohttp.ClientSession | None = None
        self._ssl: ssl.SSLContext | None = None
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
            options["ssl"] = self._tls()
        if total is not None:
            options["timeout"] = aiohttp.ClientTimeout(total=total, sock_connect=self._connect)
        try:
            response = await self._client().request(
                method, url, headers=headers, data=body, allow_redirects=False, **options
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Failure("upstream_unreachable", _describe(error, self._connect), retry_same=True) from error
        return _Response(response, self)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect),
                read_bufsize=READ_BUFFER,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent",),
            )
        return self._session

    def _tls(self) -> ssl.SSLContext:
        """The system's trust store; certifi's where the system has none (a frozen program on another distribution)."""
        if self._ssl is None:
            import certifi
            import truststore

            context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            paths = ssl.get_default_verify_paths()
            if paths.cafile is None and paths.capath is None:
                context.load_verify_locations(certifi.where())
            self._ssl = context
        return self._ssl


async def _drain(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            await response.content.readany()
            if response.content.at_eof():
                response.release()
                return
    except (aiohttp.ClientError, OSError, TimeoutError):
        pass
    finally:
        response.close()


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
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"could not be reached: {error.os_error.strerror or 'connection failed'}."
    if isinstance(error, aiohttp.ClientResponseError):
        return "answered with something that is not HTTP."
    return "closed the connection before it answered."
