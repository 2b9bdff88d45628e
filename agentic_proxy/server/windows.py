"""``/v1/responses/compact`` and ``/v1/responses/input_tokens``: what a history is, without an answer to it."""

from __future__ import annotations

import orjson
from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.persist import dump
from agentic_proxy.server.client_label import client_label
from agentic_proxy.server.errors import json_response
from agentic_proxy.server.limits import parse_object, read_body
from agentic_proxy.server.requests import checked
from translators.failure import Failure
from translators.responses.to_hub import validate


class Windows:
    """The two handlers. Both raise Failure as creating a response does."""

    def __init__(self, config: Config, engine: Engine) -> None:
        self._config = config
        self._engine = engine

    async def compact(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST .../compact``: a shorter window with a sealed summary. Unlike elsewhere the model must be named, as
        Open Responses wants it; null means the default one."""
        with OpenRequest(self._engine.usage, "responses", rid, client=client_label(request.headers)) as opened:
            body = parse_object(await read_body(request, self._config.limits.body))
            if "model" not in body:
                text = "model is missing: name the one that shall compact."
                raise Failure("invalid_request_error", text, param="model")
            opened.read(body)
            return json_response(dump(await self._engine.compact(checked(body, self._config), opened)), rid)

    async def count(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST .../input_tokens``: an estimate, see translators/responses/tokens.py. Every field is optional."""
        data = await read_body(request, self._config.limits.body)
        body = parse_object(data) if data else {}
        validate({**body, "input": []} if body.get("input") is None else body)
        tokens = await self._engine.count_tokens(body)
        return json_response(orjson.dumps({"object": "response.input_tokens", "input_tokens": tokens}), rid)
