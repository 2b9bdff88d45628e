"""One WebSocket connection of the Responses API: client messages in, lanes of responses out.

It dies with everything it remembers, and it outlives the configuration that it was opened under: each response is made
with the newest one, and only for a client that the newest one lets in. Its own limits stay as they were. A message that
cannot be served gets one error frame, which always has a status (Codex 0.171.0 ignores one without and waits for its
idle timeout), and the connection stays usable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import WSMsgType, web

from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.turn import CANCELLED, SHUTDOWN, TurnRequest
from agentic_proxy.server.client_label import client_label
from agentic_proxy.server.errors import SERVER, request_id
from agentic_proxy.server.generation import Generation
from agentic_proxy.server.limits import parse_object
from agentic_proxy.server.requests import checked
from agentic_proxy.server.session import session_of
from agentic_proxy.server.websocket.lanes import Job, Lanes, stream_id_of
from agentic_proxy.server.websocket.sink import FrameSink, Outgoing
from translators.events import Json
from translators.failure import Failure
from translators.responses.errors import error_frame
from translators.responses.steering import STEER, steer_failed

HEARTBEAT = 30.0
"""Seconds between pings that find out whether the peer is still there."""
CLOSE_WAIT = 1.0
"""Seconds to wait for the peer's half of the closing handshake."""
TOO_BIG = 1009
GOING_AWAY = 1001
KINDS_NOTED = 16
"""Different unknown client events of one connection that are worth a line in the log."""

log = structlog.get_logger("agentic_proxy.websocket")


class _Socket(web.WebSocketResponse[bool]):
    """aiohttp's WebSocket, which closes by itself when a message is larger than it takes: the client is told first."""

    def __init__(self, limit: int, tell: Callable[[], Awaitable[None]]) -> None:
        # aiohttp stops reading at its own limit, and what then still arrives may destroy the answer on its way (a reset
        # overtakes it): it gets twice our limit, so that the usual oversized message is read to its end.
        super().__init__(
            max_msg_size=2 * limit, heartbeat=HEARTBEAT, compress=True, timeout=CLOSE_WAIT, decode_text=False
        )
        self._tell = tell

    async def close(self, *, code: int = 1000, message: bytes = b"", drain: bool = True) -> bool:
        """Close with a code; 1009 explains itself in an error frame."""
        if code == TOO_BIG and not self.closed:
            await self._tell()
        return await super().close(code=code, message=message, drain=drain)


class Connection:
    """Serves one upgraded request until either side closes it. ``stall`` is the limit in seconds for a client that does
    not read."""

    def __init__(
        self, request: web.BaseRequest, rid: str, current: Callable[[], Generation], stall: float
    ) -> None:
        self._request = request
        self._current = current
        limits = current().config.limits
        self._limit = limits.ws_message
        self._session = session_of(request.headers)
        self._client = client_label(request.headers)
        self._local = LocalWindows(limits.retained)
        self._lanes = Lanes(self._create, limits.retained)
        self._outgoing = Outgoing(request, stall)
        self._socket = _Socket(self._limit, self._too_big)
        self._socket.headers.update({"Server": SERVER, "x-request-id": rid})
        self._leaving: asyncio.Task[None] | None = None
        self._ignored: set[str] = set()

    async def serve(self) -> web.StreamResponse:
        """Accept the upgrade and serve the connection."""
        socket, reason = self._socket, None
        await socket.prepare(self._request)
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await self._text(message.data)
                elif message.type == WSMsgType.BINARY:
                    text = "Messages must be JSON text frames."
                    await self._refuse(Failure("invalid_request_error", text), None)
        except ConnectionError:
            pass  # the client left while a ping was being answered
        except asyncio.CancelledError as cancelled:
            reason = SHUTDOWN if SHUTDOWN in cancelled.args else None
            raise
        finally:
            await self._lanes.close(reason)
            if self._leaving is not None:
                await self._leaving
            # Also when the client is gone: the timer of the pings would keep the connection in memory for its period.
            await socket.close(code=GOING_AWAY)
        return socket

    def drain(self) -> None:
        """The server stops: take nothing more, drop what waits, close when what runs has ended. A cancellation of
        ``serve`` with the message SHUTDOWN ends what runs."""
        if self._leaving is None:
            self._lanes.discard(SHUTDOWN)
            self._leaving = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        await self._lanes.finished()
        await self._socket.close(code=GOING_AWAY, message=b"the proxy is shutting down")

    async def _text(self, data: bytes) -> None:
        if len(data) > self._limit:
            await self._socket.close(code=TOO_BIG, message=b"message too big")
            return
        stream_id: str | None = None
        try:
            message = parse_object(data)
            if message.get("type") == STEER:
                await self._steered(message)
                return
            stream_id = stream_id_of(message)
            self._message(message, stream_id, len(data))
        except Failure as failure:
            await self._refuse(failure, stream_id)

    def _message(self, message: Json, stream_id: str | None, size: int) -> None:
        kind = message.pop("type", None)
        if kind == "response.create":
            if self._leaving is not None:
                return
            message.pop("stream_id", None)
            message.pop("event_id", None)
            message["stream"] = True
            generation = self._current()
            generation.guard.check(self._request.method, self._request.path, self._request.headers)
            # Its id is in no head, only in the log; explain knows the response's as well.
            usage, client = generation.engine.usage, self._client
            with OpenRequest(usage, "responses", request_id(), transport="websocket", client=client) as opened:
                opened.read(message)
                self._lanes.add(Job(checked(message, generation.config), stream_id, size, opened))
        elif kind == "response.cancel":
            self._cancel(message.get("response_id"), stream_id)
        elif isinstance(kind, str):
            self._ignore(kind[:64])
        else:
            text = "A message needs a type, for instance response.create."
            raise Failure("invalid_request_error", text, param="type")

    def _cancel(self, response_id: object, stream_id: str | None) -> None:
        """End what runs in a stream, or the one response that is named."""
        if response_id is not None:
            job = self._lanes.running(response_id) if isinstance(response_id, str) else None
            if job is None or stream_id not in (None, job.stream_id):
                name = f"{response_id[:80]!r} " if isinstance(response_id, str) else ""
                text = f"No response with id {name}is running here: it has ended, or did not begin on this connection."
                raise Failure("response_not_found", text, param="response_id")
            stream_id = job.stream_id
        if not self._lanes.cancel(stream_id, CANCELLED):
            raise Failure("invalid_request_error", "No response is running that could be cancelled.")

    async def _steered(self, message: Json) -> None:
        target = message.get("previous_response_id")
        job = self._lanes.running(target) if isinstance(target, str) else None
        await self._say(steer_failed(message, None if job is None else job.stream_id))

    def _ignore(self, kind: str) -> None:
        if kind not in self._ignored and len(self._ignored) < KINDS_NOTED:
            self._ignored.add(kind)
            log.info("client_event_ignored", kind=kind)

    async def _create(self, job: Job) -> None:
        """Run one response in its lane, to exactly one ending."""
        sink = FrameSink(self._outgoing, job.stream_id)
        try:
            engine = self._current().engine
            with engine.holds:
                await self._answer(job, sink, engine)
        except Failure as failure:
            await self._refuse(failure, job.stream_id)
        except ConnectionError:
            pass  # the client is gone; the receiving side notices too
        except asyncio.CancelledError as cancelled:
            if CANCELLED not in cancelled.args:
                raise
            await self._refuse(_cancelled(), job.stream_id)
        except Exception:
            log.exception("response_broke", request_id=job.opened.id)
            if not sink.started:
                text = "The proxy made a mistake; its log has the details."
                await self._refuse(Failure("internal_error", text), job.stream_id)

    async def _answer(self, job: Job, sink: FrameSink, engine: Engine) -> None:
        with job.opened as opened:
            if job.cancelled:
                raise _cancelled()
            request = TurnRequest("responses", job.body, True, self._local, self._session, opened=opened)
            job.response_id = request.id
            if job.body.pop("generate", True) is False:
                await sink.write(await engine.prewarm(request))
            else:
                await engine.run(request, sink)

    async def _too_big(self) -> None:
        text = f"A message must not be larger than {self._limit:,} bytes (limits.ws_message)."
        await self._refuse(Failure("body_too_large", text), None)

    async def _refuse(self, failure: Failure, stream_id: str | None) -> None:
        await self._say(error_frame(failure, stream_id))

    async def _say(self, payload: bytes) -> None:
        try:
            await FrameSink(self._outgoing, None).send(payload)
        except ConnectionError:
            pass  # nobody is left to tell


def _cancelled() -> Failure:
    return Failure("response_cancelled", "The client cancelled the response.")
