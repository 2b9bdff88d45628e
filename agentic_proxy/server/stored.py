"""``/v1/responses/{id}``: stored responses and background ones that still run."""

from __future__ import annotations

import orjson
from aiohttp import web

from agentic_proxy.engine.background import unknown
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.errors import json_response
from agentic_proxy.server.paths import flag, listed, number, page, query, segment
from agentic_proxy.server.sse import SseSink
from translators.items import shown_item

ID = 2
"""Where the response's id stands in the path."""


class StoredResponses:
    """The handlers of one response. All raise Failure ``response_not_found`` (404) for an id that is not known."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def show(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``GET``: the response as it stands, or with ``stream=true`` the events of a background one with numbers above
        ``starting_after``, to its end."""
        target = request.raw_path
        response_id, fields = segment(target, ID), query(target)
        if flag(fields, "stream"):
            sink = SseSink(request, rid)
            after = number(fields, "starting_after", -1)
            try:
                keepalive = self._engine.config.timeouts.keepalive
                await self._engine.background.follow(response_id, after, sink, keepalive)
            except ConnectionError:
                # The client left; the response goes on without it.
                if sink.response is None:
                    raise
                sink.response.force_close()
            if sink.response is None:
                raise RuntimeError("a stream ended without having started")
            return sink.response
        data = await self._engine.background.response(response_id)
        if data is None:
            raise unknown(response_id)
        return json_response(data, rid)

    async def delete(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``DELETE``: forget it. What continues it keeps its history."""
        response_id = segment(request.raw_path, ID)
        if not await self._engine.background.delete(response_id):
            raise unknown(response_id)
        return json_response(orjson.dumps({"id": response_id, "object": "response", "deleted": True}), rid)

    async def cancel(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST .../cancel``: end a background response; again and again gives the same object."""
        return json_response(await self._engine.background.cancel(segment(request.raw_path, ID)), rid)

    async def input_items(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``GET .../input_items``: a page of everything that the response was made from."""
        response_id = segment(request.raw_path, ID)
        listing = await self._engine.store.input_items(response_id, page(request.raw_path))
        if listing is None:
            raise unknown(response_id)
        items = [shown_item(orjson.loads(item.data)) for item in listing.items]
        return json_response(orjson.dumps(listed(items, more=listing.more)), rid)
