"""A scripted upstream: an HTTP server that plays a list of turns and keeps what it was sent.

    async with Upstream(Edit("hello.txt", "old", "new"), Say("Done.")) as upstream:
        ...                      # a proxy or a client talks to upstream.url
    upstream.posts               # every model request, in order: path, headers, parsed and raw body

It answers ``POST .../responses`` and ``POST .../chat/completions`` with a stream, and ``GET .../models`` with a list.
Each model request plays the next turn; the last turn repeats. Which tool a turn calls is decided from the request
itself (``support.turns.resolve``), so the upstream has no other state.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiohttp import web

from support.messages_stream import messages_frames
from support.turns import Cut, Disconnect, Failed, Incomplete, Json, Raw, Silence, Status, Turn
from support.wires import chat_frames, items_of, responses_frames

FRAMES = {"completions": chat_frames, "messages": messages_frames, "responses": responses_frames}
"""How a stream is played, by the last word of the path."""
MODELS = ("gpt-5.5", "gpt-5.6-luna", "grok-4")


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived. Header names are lower-case; ``body`` is None for a request without one."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    raw: bytes


class Upstream:
    """The server. ``url`` is its base without a path; ``abandoned`` counts streams that the other side closed.

    ``stream_silent`` is set when a ``Silence`` has been reached, ``stream_abandoned`` when a stream was closed.
    ``aside`` answers requests without tools (an agent wants a title), or those that ``is_aside`` picks, which then use
    up no turn. ``absent`` holds last words of paths that it does not have.
    """

    def __init__(
        self,
        *turns: Turn,
        models: tuple[str, ...] = MODELS,
        aside: Turn | None = None,
        is_aside: Callable[[Json], bool] = lambda body: not body.get("tools"),
        absent: tuple[str, ...] = (),
    ) -> None:
        self.received: list[Received] = []
        self.errors: list[str] = []
        self.abandoned = 0
        self.stream_abandoned = asyncio.Event()
        self.stream_silent = asyncio.Event()
        self.url = ""
        self._turns = turns
        self._played = 0
        self._models = models
        self._aside = aside
        self._is_aside = is_aside
        self._absent = absent

    @property
    def posts(self) -> list[Received]:
        """The model requests only."""
        return [request for request in self.received if request.method == "POST"]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=256 << 20)
        app.router.add_get("/{prefix:.*}models", self._list_models)
        app.router.add_post("/{prefix:.*}responses", self._model_request)
        app.router.add_post("/{prefix:.*}chat/completions", self._model_request)
        app.router.add_post("/{prefix:.*}messages", self._model_request)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()
        if kind is None and self.errors:
            raise AssertionError("the scripted upstream could not play its turn: " + "; ".join(self.errors))

    async def _keep(self, request: web.Request) -> Received:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        kept = Received(request.method, request.path, headers, json.loads(raw) if raw else {}, raw)
        self.received.append(kept)
        return kept

    async def _list_models(self, request: web.Request) -> web.Response:
        await self._keep(request)
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})

    async def _model_request(self, request: web.Request) -> web.StreamResponse:
        kept = await self._keep(request)
        if kept.path.rpartition("/")[2] in self._absent:
            return web.json_response({"detail": "Not Found"}, status=404)
        if self._aside is not None and self._is_aside(kept.body):
            turn = self._aside
        else:
            turn = self._turns[min(self._played, len(self._turns) - 1)]
            self._played += 1
        match turn:
            case Status():
                return web.json_response(turn.body, status=turn.status, headers=turn.headers)
            case Disconnect():
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case Raw():
                return web.Response(body=turn.body, headers={"content-type": turn.content_type})
            case _:
                pass
        if kept.body.get("stream") is not True:
            return self._refuse("a request without stream: true")
        frames = FRAMES[kept.path.rpartition("/")[2]]
        fault = turn if isinstance(turn, Cut | Failed | Incomplete | Silence) else None
        try:
            parts = list(frames(kept.body, items_of(turn, kept.body), fault))
        except LookupError as error:
            return self._refuse(str(error))
        return await self._stream(request, parts, silent=isinstance(turn, Silence))

    def _refuse(self, why: str) -> web.Response:
        self.errors.append(why)
        return web.json_response({"error": {"message": why, "type": "scripted", "code": "unplayable"}}, status=400)

    async def _stream(self, request: web.Request, parts: list[bytes], *, silent: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        try:
            await response.prepare(request)
            for part in parts:
                await response.write(part)
            if silent:
                self.stream_silent.set()
                await asyncio.Event().wait()
        except (ConnectionResetError, asyncio.CancelledError):
            self.abandoned += 1
            self.stream_abandoned.set()
            raise
        return response
