"""One WebSocket connection of the Responses API: client messages in, lanes of responses out.

It dies with everything it remembers. A message that cannot be served gets one error frame, which always has a status
(Codex 0.171.0 ignores one without and waits for its idle timeout), and the connection stays usable.
"""

from __future__ import annotations

import asyncio

import structlog
from aiohttp import WSMsgType, web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.turn import CANCELLED, SHUTDOWN, TurnRequest
from agentic_proxy.server.limits import parse_object
from agentic_proxy.server.requests import checked
from agentic_proxy.server.websocket.lanes import Job, Lanes, stream_id_of
from agentic_proxy.server.websocket.sink import FrameSink
from translators.events import Json
from translators.failure import Failure
from translators.responses.errors import error_frame

HEARTBEAT = 30.0
"""Seconds between pings that find out whether the peer is still there."""
TOO_BIG = 1009
GOING_AWAY = 1001

log = structlog.get_logger("agentic_proxy.websocket")


class Connection:
    """Serves one upgraded request until either side closes it."""

    def __init__(self, request: web.BaseRequest, config: Config, engine: Engine) -> None:
        self._request = request
        self._config = config
        self._engine = engine
        self._local = LocalWindows(config.limits.retained)
        self._lanes = Lanes(self._create, config.limits.retained)
        # aiohttp closes a connection before it shows an oversized message: it gets twice our limit, we check ours.
        size = 2 * config.limits.ws_message
        self._socket = web.WebSocketResponse(max_msg_size=size, heartbeat=HEARTBEAT, compress=True)
        self._draining = False

    async def serve(self) -> web.WebSocketResponse:
        """Accept the upgrade and serve the connection."""
        socket = self._socket
        await socket.prepare(self._request)
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await self._text(message.data)
                elif message.type == WSMsgType.BINARY:
                    text = "Messages must be JSON text frames."
                    await self._refuse(Failure("invalid_request_error", text), None)
        finally:
            await self._lanes.close()
        return socket

    async def drain(self) -> None:
        """The server stops: take nothing more, drop what waits, let what runs finish, close."""
        self._draining = True
        self._lanes.discard()
        await self._lanes.finished()
        await self._socket.close(code=GOING_AWAY, message=b"the proxy is shutting down")

    async def stop(self) -> None:
        """The drain took too long: end what runs as the server's shutdown."""
        await self._lanes.close(SHUTDOWN)

    async def _text(self, data: str) -> None:
        limit = self._config.limits.ws_message
        raw = data.encode("utf-8", "surrogatepass")
        if len(raw) > limit:
            text = f"A message must not be larger than {limit:,} bytes (limits.ws_message)."
            await self._refuse(Failure("body_too_large", text), None)
            await self._socket.close(code=TOO_BIG, message=b"message too big")
            return
        stream_id: str | None = None
        try:
            message = parse_object(raw)
            stream_id = stream_id_of(message)
            await self._message(message, stream_id, len(raw))
        except Failure as failure:
            await self._refuse(failure, stream_id)

    async def _message(self, message: Json, stream_id: str | None, size: int) -> None:
        kind = message.pop("type", None)
        if kind == "response.create":
            if self._draining:
                return
            message.pop("stream_id", None)
            message.pop("event_id", None)
            message["stream"] = True
            self._lanes.add(Job(checked(message, self._config), stream_id, size))
        elif kind == "response.cancel":
            if not self._lanes.cancel(stream_id, CANCELLED):
                raise Failure("invalid_request_error", "No response is running that could be cancelled.")
        elif isinstance(kind, str):
            log.info("client_event_ignored", kind=kind[:64])
        else:
            text = "A message needs a type, for instance response.create."
            raise Failure("invalid_request_error", text, param="type")

    async def _create(self, job: Job) -> None:
        """Run one response in its lane."""
        sink = FrameSink(self._request, job.stream_id)
        request = TurnRequest("responses", job.body, True, self._local)
        try:
            if job.body.pop("generate", True) is False:
                await sink.write(await self._engine.prewarm(request))
            else:
                await self._engine.run(request, sink)
        except Failure as failure:
            await self._refuse(failure, job.stream_id)
        except ConnectionError:
            # The client is gone; the receiving side notices too.
            pass
        except asyncio.CancelledError as cancelled:
            if CANCELLED not in cancelled.args:
                raise
            await self._refuse(Failure("response_cancelled", "The response was cancelled."), job.stream_id)

    async def _refuse(self, failure: Failure, stream_id: str | None) -> None:
        try:
            await FrameSink(self._request, None).send(error_frame(failure, stream_id))
        except ConnectionError:
            pass
