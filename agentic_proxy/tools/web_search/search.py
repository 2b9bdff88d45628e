"""Searcher: asks the configured provider; WebSearch: the tool for one turn.

Result addresses are never opened. An answer is read up to a limit, redirects are not followed, and one 429 is waited
for when the wait is short.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.web_search.base import Json, Provider, Request
from agentic_proxy.tools.web_search.brave import BRAVE
from agentic_proxy.tools.web_search.searxng import SEARXNG
from agentic_proxy.tools.web_search.tavily import TAVILY
from agentic_proxy.tools.web_search.you import YOU
from translators.gateway.own import OwnTool, Ran, Result
from translators.gateway.search import Search, Settings, searches

if TYPE_CHECKING:
    import aiohttp

PROVIDERS: dict[str, Provider] = {each.name: each for each in (BRAVE, TAVILY, YOU, SEARXNG)}
TIMEOUT = 9.0
"""Seconds for one search."""
LONGEST_WAIT = 2.0
"""Seconds that a provider may ask to wait before the one retry."""
ANSWER = 4 << 20


class Searcher:
    """One provider, one connection pool. ``tls`` is made when it is first needed; ``proxy`` says which outbound proxy
    leads to a URL."""

    def __init__(
        self,
        provider: Provider,
        base_url: str,
        key: str,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        proxy: Callable[[str], str | None] | None = None,
    ) -> None:
        self.provider = provider
        self._base = base_url.rstrip("/")
        self._key = key
        self._tls = tls
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def search(self, search: Search) -> list[Result]:
        """The results, at most ``search.count``. Raises ToolError."""
        request = self.provider.ask(self._base, search, self._key)
        try:
            async with asyncio.timeout(TIMEOUT):
                answer = await self._asked(request)
        except TimeoutError:
            raise ToolError(f"{self._name} did not answer within {TIMEOUT:g} seconds.") from None
        return self.provider.read(answer, search)[: search.count]

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @property
    def _name(self) -> str:
        return f"The search provider {self.provider.name}"

    async def _asked(self, request: Request) -> Json:
        status, body, wait = await self._once(request)
        if status == 429 and wait is not None and wait <= LONGEST_WAIT:
            await asyncio.sleep(wait)
            status, body, _ = await self._once(request)
        if status != 200:
            raise ToolError(self._refused(status))
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise ToolError(f"{self._name} answered with something that is not JSON.")
        return answer

    def _refused(self, status: int) -> str:
        if (special := self.provider.refusals.get(status)) is not None:
            return f"{self._name} {special} (HTTP {status})."
        usual = {401: "did not accept the key", 403: "did not accept the key", 429: "allows no more searches for now"}
        said = usual.get(status, "had a fault of its own" if status >= 500 else "refused the search")
        return f"{self._name} {said} (HTTP {status})."

    async def _once(self, request: Request) -> tuple[int, bytes, float | None]:
        """Status, body and the wait that a 429 asks for. Raises ToolError."""
        import aiohttp

        url = request.url
        try:
            async with self._opened().request(
                "GET" if request.json is None else "POST",
                url,
                params=request.params,
                headers=request.headers,
                json=request.json,
                allow_redirects=False,
                proxy=self._proxy(url) if self._proxy is not None else None,
            ) as response:
                body = await response.content.read(ANSWER)
                while not response.content.at_eof() and len(body) < ANSWER:
                    body += await response.content.read(ANSWER - len(body))
                if not response.content.at_eof():
                    response.close()
                    raise ToolError(f"{self._name} sent more than {ANSWER >> 20} MiB.")
                return response.status, body, _wait(response.headers)
        except (aiohttp.ClientError, OSError) as error:
            raise ToolError(f"{self._name} cannot be reached: {_reason(error)}.") from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            context: Any = self._tls() if self._tls is not None else True
            connector = aiohttp.TCPConnector(limit=16, ssl=context)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session


class WebSearch:
    """The tool for one turn: what its declaration said, and the provider."""

    def __init__(self, searcher: Searcher, settings: Settings) -> None:
        self._searcher = searcher
        self._settings = settings

    async def run(self, own: OwnTool, arguments: str) -> Ran:
        """All queries of one call at the same time. What some of them found counts, whatever befell the others."""
        try:
            asked = searches(arguments, self._settings)
        except ValueError as error:
            return Ran(error=str(error))
        answers = await asyncio.gather(*map(self._searcher.search, asked), return_exceptions=True)
        results: dict[str, Result] = {}
        errors: list[str] = []
        for answer in answers:
            if isinstance(answer, ToolError):
                errors.append(str(answer))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                results |= {each.url: each for each in answer if each.url not in results}
        if errors and not results:
            return Ran(error=errors[0])
        return Ran(results=tuple(results.values()))


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from Retry-After, or from Brave's reset of its limit per second."""
    for value in (headers.get("Retry-After", ""), headers.get("X-RateLimit-Reset", "").split(",")[0]):
        if value.strip().replace(".", "", 1).isdecimal():
            return float(value)
    return None


def _reason(error: Exception) -> str:
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.errno and found.errno > 0:
            return os.strerror(found.errno).lower()
        found = found.__cause__ or found.__context__
    return "connection failed"
