"""Probes: ``/health`` says that the process answers, ``/ready`` that it could serve a turn."""

from __future__ import annotations

import orjson
from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.errors import json_response
from translators.events import Json

HEALTHY = b'{"status":"ok"}'


class Health:
    """The handlers of the two probes. Neither calls an upstream."""

    def __init__(self, config: Config, engine: Engine) -> None:
        self._config = config
        self._engine = engine

    async def health(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """Always 200: open to everybody, so it says nothing more."""
        return json_response(HEALTHY, rid)

    async def ready(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """200 when at least one provider can be called, else 503; the body says which ones can, and what of them is out
        after faults, why and until when. That is only asked last, so it does not change the status."""
        usable = {
            provider.name: provider.available and provider.name in self._engine.executors
            for provider in self._config.providers
        }
        ready = any(usable.values())
        body: Json = {"status": "ready" if ready else "not_ready", "providers": usable}
        body["out"] = self._engine.outages.listing(self._config.providers)
        return json_response(orjson.dumps(body), rid, 200 if ready else 503)
