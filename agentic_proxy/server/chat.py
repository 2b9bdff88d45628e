"""``/v1/chat/completions``: OpenAI's older format, which most coding agents speak."""

from __future__ import annotations

from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.exchange import exchange


class Chat:
    """The handler of ``/v1/chat/completions``."""

    def __init__(self, config: Config, engine: Engine) -> None:
        self._config = config
        self._engine = engine

    async def create(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST``: chunks when the body says ``stream: true``, else one completion. Raises Failure."""
        return await exchange("chat", self._config, self._engine, request, rid)
