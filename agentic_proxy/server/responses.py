"""``/v1/responses``: one request body in, one stream or one JSON object out. The engine does the rest."""

from __future__ import annotations

import json

import orjson
from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.server.client_label import client_label
from agentic_proxy.server.errors import failure_response, json_response
from agentic_proxy.server.limits import parse_object, read_body
from agentic_proxy.server.requests import checked
from agentic_proxy.server.session import session_of
from agentic_proxy.server.sse import SseSink
from agentic_proxy.server.websocket.handshake import wants_websocket
from agentic_proxy.server.websocket.sockets import Sockets
from translators.events import Json
from translators.failure import Failure


def _dump(response: Json) -> bytes:
    try:
        return orjson.dumps(response)
    except TypeError:
        # A lone surrogate that the client sent and the response repeats: only the standard writer can escape it.
        return json.dumps(response, separators=(",", ":")).encode()


class Responses:
    """The handlers of ``/v1/responses``."""

    def __init__(self, config: Config, engine: Engine, sockets: Sockets) -> None:
        self._engine = engine
        self._sockets = sockets if config.server.websocket else None
        self._limit = config.limits.body
        self._config = config

    async def create(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST``: an SSE stream when the body says ``stream: true``, else the finished response object.

        Raises Failure as long as nothing was sent.
        """
        with OpenRequest(self._engine.usage, "responses", rid, client=client_label(request.headers)) as opened:
            return await self._create(request, opened)

    async def _create(self, request: web.BaseRequest, opened: OpenRequest) -> web.StreamResponse:
        given, rid = parse_object(await read_body(request, self._limit)), opened.id
        opened.read(given)
        body = checked(given, self._config)
        turn = TurnRequest("responses", body, body.get("stream") is True, session=session_of(request.headers))
        turn.opened = opened
        if not turn.stream:
            response = await self._engine.run(turn, None)
            return json_response(_dump(response), rid)
        sink = SseSink(request, rid)
        try:
            await self._engine.run(turn, sink)
        except ConnectionError:
            # The client left in the middle of a write; there is nobody to tell.
            if sink.response is None:
                raise
            sink.response.force_close()
        if sink.response is None:
            raise RuntimeError("the engine ended a stream without starting it")
        return sink.response

    async def connect(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``GET``: a WebSocket upgrade, refused with 426 when switched off (upon which Codex falls back to HTTP at once
        and silently); anything else is not a method of this resource."""
        if wants_websocket(request):
            if self._sockets is not None:
                return await self._sockets.accept(request, rid)
            text = "WebSocket connections are switched off here: send POST requests to the same address."
            return failure_response(Failure("websocket_unavailable", text), rid, close=True)
        failure = Failure("method_not_allowed", "Send requests to this address with POST.")
        return failure_response(failure, rid, allow="POST")
