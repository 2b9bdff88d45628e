"""The HTTP client of an MCP session: every connection goes to an address that the policy checked.

Each host name has an inner transport of its own: a pool knows connections by address, and a second name at the same
address would be served over the first name's TLS connection (measured with httpx2 2.16). A host with several addresses
is reached at the first one that takes a connection: ``localhost`` is often ``::1`` first, and nobody listens there. The
``mcp`` package follows redirects within one origin only, and they pass through here again.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Mapping

import httpx2

from agentic_proxy.tools.net_policy import NetPolicy, Refused

BODY = 8 << 20
"""Bytes of one answer that is no stream of events; those the package limits itself."""
SESSION = "mcp-session-id"
Refusal = Callable[[int, bool], None]
"""Told of each message that a server refused: the HTTP status, and whether it was sent within a session."""
TIMEOUT = httpx2.Timeout(connect=8.0, read=65.0, write=15.0, pool=5.0)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > BODY:
                raise httpx2.ReadError(f"the answer is larger than {BODY >> 20} MiB", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Resolves, asks the policy, connects to the address; name, certificate and Host header stay those of the URL."""

    def __init__(self, policy: NetPolicy, tls: ssl.SSLContext, refused: Refusal | None = None) -> None:
        self._policy = policy
        self._tls = tls
        self._refused = refused
        self._inner: dict[str, httpx2.AsyncHTTPTransport] = {}
        self._reached: dict[str, str] = {}
        """The address at which each host was reached last."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises httpx2.ConnectError when the policy forbids it."""
        try:
            endpoint = self._policy.check_url(str(request.url))
            addresses = await self._policy.addresses(endpoint.host, endpoint.port)
        except Refused as refused:
            raise httpx2.ConnectError(f"the address {refused}", request=request) from None
        inner = self._inner.get(endpoint.host)
        if inner is None:
            inner = self._inner[endpoint.host] = httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False)
        request.extensions = {**request.extensions, "sni_hostname": endpoint.host}
        addresses.sort(key=lambda address: address != self._reached.get(endpoint.host))
        response = await self._answer(inner, request, addresses)
        self._reached[endpoint.host] = request.url.host
        if self._refused is not None and response.status_code >= 400 and request.method == "POST":
            self._refused(response.status_code, SESSION in request.headers)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)
            response.stream = _Limited(stream, request)
        return response

    async def _answer(
        self, inner: httpx2.AsyncHTTPTransport, request: httpx2.Request, addresses: list[str]
    ) -> httpx2.Response:
        """From the first address that takes a connection; nothing was sent to those before it."""
        url, last = request.url, addresses[-1]
        for address in addresses:
            request.url = url.copy_with(host=address)
            try:
                return await inner.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if address == last:
                    raise
        raise AssertionError("there is one address at least")

    async def aclose(self) -> None:
        """Close all connections."""
        for inner in self._inner.values():
            await inner.aclose()


def http_client(
    policy: NetPolicy, tls: ssl.SSLContext, headers: Mapping[str, str], refused: Refusal | None = None
) -> httpx2.AsyncClient:
    """A client for one session and its credentials; whoever made it closes it."""
    transport = PinnedTransport(policy, tls, refused)
    return httpx2.AsyncClient(headers=dict(headers), timeout=TIMEOUT, transport=transport, follow_redirects=False)
