"""A search provider in the test's own loop: keeps what it was asked and answers by a function.

async with SearchServer(brave_page) as server:
    ...                          # server.url, server.asked, server.running, server.most
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from support.raw_upstream import LIMIT

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; ``params`` are those of the query, header names are lower-case."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: Json | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A status other than 200, headers, or a body that is no JSON."""

    body: Any = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def brave_page(asked: Asked) -> Json:
    """Two results that say what was asked for, as Brave sends them."""
    query = asked.params["q"]
    rows = [
        {"title": f"About <b>{query}</b>", "url": f"https://one.example/{query}", "description": f"First on {query}."},
        {"title": "Second", "url": f"https://two.example/{query}", "description": "More &amp; more.", "age": "1 day"},
    ]
    return {"type": "search", "web": {"results": rows}}


class SearchServer:
    """``held``: every answer waits until ``gate`` is set. ``most``: how many requests stood open at the same time."""

    def __init__(self, answer: Callable[[Asked], Any] = brave_page, *, held: bool = False) -> None:
        self.asked: list[Asked] = []
        self.running = 0
        self.most = 0
        self.gate = asyncio.Event()
        self.changed = asyncio.Condition()
        self.url = ""
        self._answer = answer
        if not held:
            self.gate.set()

    async def __aenter__(self) -> Self:
        server = web.Server(self._handle, handler_cancellation=True)
        self._runner = web.ServerRunner(server)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.set()
        await self._runner.cleanup()

    async def until(self, condition: Callable[[SearchServer], bool]) -> None:
        """Wait for a request that makes ``condition`` true, or for one that ends."""
        async with asyncio.timeout(LIMIT), self.changed:
            await self.changed.wait_for(lambda: condition(self))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(request.method, request.path, dict(request.query), headers, json.loads(raw) if raw else None)
        self.asked.append(asked)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self._notify()
            await self.gate.wait()
            answer = self._answer(asked)
        finally:
            self.running -= 1
            await self._notify()
        given = answer if isinstance(answer, Answer) else Answer(answer)
        body = given.body if isinstance(given.body, bytes) else json.dumps(given.body).encode()
        return web.Response(status=given.status, body=body, headers=dict(given.headers))

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()
