"""``/v1/models``: one body for everybody, OpenAI's ``data`` beside Codex's ``models``."""

from __future__ import annotations

import hashlib
from urllib.parse import unquote

import orjson
from aiohttp import web

from agentic_proxy.engine.model_lists import ModelLists
from agentic_proxy.routing.models import Listed, Routable, Target
from agentic_proxy.server.errors import base_headers, json_response
from translators.dialects.override import override
from translators.dialects.table import DIALECTS
from translators.failure import Failure
from translators.responses.catalog import codex_entry, openai_entry

PREFIX = "/v1/models/"


def list_body(names: list[Routable]) -> bytes:
    """Both lists as JSON. Equal names give equal bytes."""
    codex = []
    for priority, routable in enumerate(names, start=1):
        model = routable.target.model
        window = model.context_window if model is not None else None
        codex.append(codex_entry(routable.name, priority, window, sees_images(routable.target)))
    data = [openai_entry(routable.name, routable.target.provider.name) for routable in names]
    return orjson.dumps({"object": "list", "data": data, "models": codex})


def sees_images(target: Target) -> bool | None:
    """Whether a model sees images, by the configuration or by what is known of its name; None: nobody knows."""
    model = target.model
    if model is not None and model.images is not None:
        return model.images
    make = DIALECTS.get(target.provider.type)
    if make is None:
        return None
    dialect = override(make(target.upstream_model), model.dialect if model is not None else {})
    return dialect.images if dialect.images_known or not dialect.images else None


def etag_matches(condition: str, etag: str) -> bool:
    """Whether an ``If-None-Match`` value covers ``etag`` (weak comparison, as RFC 9110 asks for GET)."""
    return any(part.strip().removeprefix("W/") in ("*", etag) for part in condition.split(","))


class ModelRoutes:
    """The handlers of ``/v1/models``; keeps the body until a list changes."""

    def __init__(self, lists: ModelLists) -> None:
        self._lists = lists
        self._for: Listed | None = None
        self._body = b""
        self._etag = ""

    async def index(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """Every routable name. ``?client_version=`` (Codex) is accepted and makes no difference."""
        listed = await self._lists.listed()
        if listed is not self._for:
            self._for = listed
            self._body = list_body(self._lists.table.names(listed))
            self._etag = f'"{hashlib.sha256(self._body).hexdigest()[:32]}"'
        headers = base_headers(rid)
        headers["ETag"] = self._etag
        condition = request.headers.get("If-None-Match")
        if condition is not None and etag_matches(condition, self._etag):
            del headers["Content-Type"]
            return web.Response(status=304, headers=headers)
        return web.Response(body=self._body, headers=headers)

    async def show(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """One name, which may contain slashes. Raises Failure ``model_not_found`` or ``not_available_yet``."""
        name = unquote(request.raw_path.partition("?")[0][len(PREFIX) :])
        if not name:
            raise Failure("not_found", "Name a model: GET /v1/models/MODEL.")
        targets = await self._lists.resolve(name)
        return json_response(orjson.dumps(openai_entry(name, targets[0].provider.name)), rid)
