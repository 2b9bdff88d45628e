"""A scripted upstream that is strict: what its provider refuses is a 400 and plays no turn."""

from __future__ import annotations

import json

from aiohttp import web

from support.providers.rules import Rules
from support.turns import Turn
from support.upstream import Upstream


class StrictUpstream(Upstream):
    """``refused`` keeps what was said about each refused request."""

    def __init__(self, rules: Rules, *turns: Turn) -> None:
        super().__init__(*turns, models=(rules.model,))
        self.rules = rules
        self.refused: list[str] = []

    async def _model_request(self, request: web.Request) -> web.StreamResponse:
        refusal = self.rules.refuse(json.loads(await request.read()))
        if refusal is None:
            return await super()._model_request(request)
        await self._keep(request)
        self.refused.append(json.dumps(refusal))
        return web.json_response(refusal, status=400)
