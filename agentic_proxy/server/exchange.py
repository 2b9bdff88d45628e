"""Exchange: one model request of any client format over HTTP. A stream when it was asked for, else one JSON object."""

from __future__ import annotations

from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.server.client_label import client_label
from agentic_proxy.server.errors import json_response
from agentic_proxy.server.limits import parse_object, read_body
from agentic_proxy.server.session import session_of
from agentic_proxy.server.sse import SseSink
from translators.failure import Failure
from translators.messages.betas import known
from translators.registry import CLIENTS


async def exchange(
    client: str, config: Config, engine: Engine, request: web.BaseRequest, rid: str
) -> web.StreamResponse:
    """Answer a request in the format ``client``. Raises Failure as long as nothing was sent."""
    with OpenRequest(engine.usage, client, rid, client=client_label(request.headers)) as opened:
        return await _exchange(opened, config, engine, request)


async def _exchange(
    opened: OpenRequest, config: Config, engine: Engine, request: web.BaseRequest
) -> web.StreamResponse:
    client, rid, format_ = opened.client_format, opened.id, CLIENTS[opened.client_format]
    original = parse_object(await read_body(request, config.limits.body))
    opened.read(original)
    body, notes = format_.to_hub(original)
    if body.get("model") is None:
        if config.models.default is None:
            text = "model is missing: name one, or set models.default in the proxy's configuration."
            raise Failure("invalid_request_error", text, param="model")
        body["model"] = config.models.default
    streams = original.get("stream") is True
    session = session_of(request.headers)
    turn = TurnRequest(client, body, streams, session=session, original=original, notes=tuple(notes))
    turn.opened = opened
    turn.betas = known(request.headers.get("anthropic-beta", ""))
    if not streams:
        return json_response(format_.whole(await engine.run(turn, None), original), rid)
    sink = SseSink(request, rid)
    try:
        await engine.run(turn, sink)
    except ConnectionError:
        # The client left in the middle of a write; there is nobody to tell.
        if sink.response is None:
            raise
        sink.response.force_close()
    if sink.response is None:
        raise RuntimeError("the engine ended a stream without starting it")
    return sink.response
