"""The HTTP server: a route table behind the guard, on aiohttp's low-level server (no router, no middleware)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import structlog
from aiohttp import web

from agentic_proxy.server import models
from agentic_proxy.server.chat import Chat
from agentic_proxy.server.conversations import Conversations
from agentic_proxy.server.errors import failure_response, request_id
from agentic_proxy.server.generation import Generation
from agentic_proxy.server.guard import split_target
from agentic_proxy.server.health import Health
from agentic_proxy.server.messages import PREFIX as MESSAGES
from agentic_proxy.server.messages import Messages
from agentic_proxy.server.paths import ANY, match
from agentic_proxy.server.responses import Responses
from agentic_proxy.server.stored import StoredResponses
from agentic_proxy.server.websocket.sockets import Sockets
from agentic_proxy.server.windows import Windows
from translators.failure import Failure

Handler: TypeAlias = Callable[[web.BaseRequest, str], Awaitable[web.StreamResponse]]
GOODBYE = "The proxy is shutting down: send the request again."

_log = structlog.get_logger("agentic_proxy.server")


@dataclass(frozen=True, slots=True)
class Route:
    """The handlers of one path by method, and what ``Allow`` says. ``lasting``: the methods whose requests outlive
    their generation and take another for each thing they do."""

    handlers: dict[str, Handler]
    allow: str
    lasting: frozenset[str] = frozenset()


def _readable(handler: Handler) -> Route:
    return Route({"GET": handler, "HEAD": handler}, "GET, HEAD")


def _route(**handlers: Handler) -> Route:
    return Route(handlers, ", ".join(handlers))


class App:
    """Answers every well-formed request of one generation: guard, route, and one place where a failure becomes an
    answer."""

    def __init__(self, generation: Generation, sockets: Sockets) -> None:
        config, engine = generation.config, generation.engine
        self._guard, self._holds = generation.guard, engine.holds
        responses, health = Responses(config, engine, sockets), Health(config, engine)
        listing = models.ModelRoutes(engine.models)
        self._routes = {
            # GET answers itself: it is the WebSocket handshake, which is not a readable resource.
            "/v1/responses": Route({"POST": responses.create, "GET": responses.connect}, "POST", frozenset({"GET"})),
            "/v1/models": _readable(listing.index),
            "/health": _readable(health.health),
            "/ready": _readable(health.ready),
        }
        stored, conversations = StoredResponses(engine), Conversations(config, engine)
        windows = Windows(config, engine)
        chat, messages = Chat(config, engine), Messages(config, engine)
        self._routes |= {
            "/v1/responses/compact": _route(POST=windows.compact),
            "/v1/responses/input_tokens": _route(POST=windows.count),
            "/v1/conversations": _route(POST=conversations.create),
            "/v1/chat/completions": _route(POST=chat.create),
            "/v1/messages": _route(POST=messages.create),
            "/v1/messages/count_tokens": _route(POST=messages.count),
            "/": _readable(messages.hello),
        }
        self._patterns = {
            ("v1", "responses", ANY): _route(GET=stored.show, DELETE=stored.delete),
            ("v1", "responses", ANY, "cancel"): _route(POST=stored.cancel),
            ("v1", "responses", ANY, "input_items"): _route(GET=stored.input_items),
            ("v1", "conversations", ANY): _route(
                GET=conversations.show, POST=conversations.update, DELETE=conversations.delete
            ),
            ("v1", "conversations", ANY, "items"): _route(GET=conversations.items, POST=conversations.add),
            ("v1", "conversations", ANY, "items", ANY): _route(
                GET=conversations.item, DELETE=conversations.remove
            ),
        }
        """Paths with parameters, which the handlers take from the path themselves."""
        self._model = _readable(listing.show)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to one request. Failures and bugs become JSON errors; a cancellation goes on, except that of a
        server that stops, which the client is told."""
        rid = request_id()
        try:
            path = split_target(request.raw_path)
            if path is None:
                text = "The request target must be a path."
                return failure_response(Failure("invalid_request_error", text), rid, close=True)
            self._guard.check(request.method, path, request.headers)
            return await self._route(request, path, rid)
        except Failure as failure:
            if request.writer.output_size > 0:
                _log.warning("stream_broke", request_id=rid, code=failure.code)
                raise _broken() from failure
            return _refused(request, failure, rid, close=not request.content.is_eof())
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if cancelled.args != ("server_shutdown",) or task is None or request.writer.output_size > 0:
                raise
            task.uncancel()
            return _refused(request, Failure("server_shutdown", GOODBYE, retry_after=1), rid, close=True)
        except Exception as exc:
            if isinstance(exc, ConnectionError) and (request.transport is None or request.transport.is_closing()):
                raise
            return self._broke(request, rid, exc)

    async def _route(self, request: web.BaseRequest, path: str, rid: str) -> web.StreamResponse:
        route = self._routes.get(path)
        if route is None:
            route = self._model if path.startswith(models.PREFIX) else match(path, self._patterns)
        if route is None:
            raise Failure("not_found", "This proxy has nothing at this address.")
        handler = route.handlers.get(request.method)
        if handler is not None:
            if request.method in route.lasting:
                return await handler(request, rid)
            with self._holds:
                return await handler(request, rid)
        failure = Failure("method_not_allowed", "This address does not know this method.")
        return _refused(request, failure, rid, allow=route.allow, close=not request.content.is_eof())

    def _broke(self, request: web.BaseRequest, rid: str, exc: Exception) -> web.StreamResponse:
        _log.exception("internal_error", request_id=rid, exc_info=exc)
        if request.writer.output_size > 0:
            raise _broken() from exc
        text = f"The proxy has a bug: it could not answer this request. Its log has the details under {rid}."
        return _refused(request, Failure("internal_error", text), rid, close=True)


def _broken() -> ConnectionResetError:
    """A second head would end up in the middle of the body: only a closed connection is still truthful."""
    return ConnectionResetError("the stream broke after its head")


def _refused(
    request: web.BaseRequest, failure: Failure, rid: str, *, allow: str | None = None, close: bool = False
) -> web.Response:
    """A failure in the format of the address that was asked."""
    messages = request.path.startswith(MESSAGES)
    return failure_response(failure, rid, allow=allow, close=close, messages=messages)
