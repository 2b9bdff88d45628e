"""HttpTransport: the program's one transport. Directly where no proxy is configured, else through that proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_proxy.executors.base import UpstreamResponse
from agentic_proxy.executors.direct import DirectTransport

if TYPE_CHECKING:
    from agentic_proxy.executors.proxied import ProxiedTransport


class HttpTransport:
    """``connect`` limits a connection's set-up in seconds. aiohttp's client is loaded only when a proxy is used."""

    def __init__(self, connect: float) -> None:
        self._connect = connect
        self._direct = DirectTransport(connect)
        self._proxied: ProxiedTransport | None = None

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, *, proxy: str | None = None
    ) -> UpstreamResponse:
        """Send a request; returns once the answer's head is there. Raises Failure ``upstream_unreachable``."""
        if proxy is None:
            return await self._direct.post(url, headers, body)
        return await self._through().post(url, headers, body, proxy=proxy)

    async def get(
        self, url: str, headers: dict[str, str], *, proxy: str | None = None, timeout: float
    ) -> UpstreamResponse:
        """Like ``post`` without a body, with a limit in seconds."""
        if proxy is None:
            return await self._direct.get(url, headers, timeout=timeout)
        return await self._through().get(url, headers, proxy=proxy, timeout=timeout)

    async def close(self) -> None:
        """Close all connections."""
        await self._direct.close()
        if self._proxied is not None:
            await self._proxied.close()

    def _through(self) -> ProxiedTransport:
        if self._proxied is None:
            from agentic_proxy.executors.proxied import ProxiedTransport

            self._proxied = ProxiedTransport(self._connect)
        return self._proxied
