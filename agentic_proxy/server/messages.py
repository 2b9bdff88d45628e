"""``/v1/messages``: Anthropic's format, which Claude Code speaks, and the root, which it asks first.

Facts about Claude Code were measured with 2.1.197: it sends ``?beta=true``.
"""

from __future__ import annotations

import orjson
from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.errors import json_response
from agentic_proxy.server.exchange import exchange
from agentic_proxy.server.limits import parse_object, read_body
from translators.messages.betas import known

PREFIX = "/v1/messages"
HELLO = b'{"status":"ok"}'


class Messages:
    """The handlers of ``/v1/messages`` and of the root."""

    def __init__(self, config: Config, engine: Engine) -> None:
        self._config = config
        self._engine = engine

    async def create(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST``: events when the body says ``stream: true``, else one message. Raises Failure."""
        response = await exchange("messages", self._config, self._engine, request, rid)
        if not response.prepared:
            response.headers["request-id"] = rid
        return response

    async def count(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST .../count_tokens``: the upstream's own count, or an estimate. Raises Failure."""
        body = parse_object(await read_body(request, self._config.limits.body))
        betas = known(request.headers.get("anthropic-beta", ""))
        counted = await self._engine.counting.count(body, betas)
        return json_response(orjson.dumps({"input_tokens": counted}), rid)

    async def hello(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """The root: somebody is there."""
        return json_response(HELLO, rid)
