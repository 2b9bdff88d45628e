"""Counting: how many input tokens a Messages request has.

An upstream that speaks Messages counts itself, free of charge and with its own tokenizer; everywhere else, and where it
does not answer, the proxy estimates.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import orjson
import structlog

from agentic_proxy.engine.relay import opener
from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.candidates import expand
from agentic_proxy.routing.models import Target
from translators.events import Json
from translators.failure import Failure
from translators.messages import relay
from translators.messages.count import count_tokens
from translators.messages.to_hub import validate

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine

log = structlog.get_logger("agentic_proxy.counting")

SECONDS: Final = 5.0
"""How long an upstream may take to count; a client waits for this before it asks its model."""
ANSWER: Final = 64 << 10
NOTHING_THERE: Final = frozenset({404, 405, 501})
"""Statuses of an upstream that does not count: it is not asked again."""


class Counting:
    """Of one engine; remembers which providers do not count."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._silent: set[str] = set()

    async def count(self, body: Json, betas: tuple[str, ...] = ()) -> int:
        """Input tokens of a ``count_tokens`` body. Raises Failure ``invalid_request_error``."""
        validate(body)
        target = await self._target(body)
        if target is None:
            return await asyncio.to_thread(count_tokens, body)
        lessons = self._engine.lessons.of(target)
        executor = self._engine.executor(target, "messages", lessons)
        if executor.wire == "messages" and target.provider.name not in self._silent:
            counted = await self._asked(executor, target, body, betas)
            if counted is not None:
                return counted
        # A long conversation has a million words: other streams must not wait until they are counted.
        return await asyncio.to_thread(count_tokens, body, target.upstream_model)

    async def _target(self, body: Json) -> Target | None:
        """Who would be asked first; None for a name that nobody has, which the request itself will be told."""
        try:
            return (await self._engine.models.resolve(body.get("model")))[0]
        except Failure:
            return None

    async def _asked(self, executor: Executor, target: Target, body: Json, betas: tuple[str, ...]) -> int | None:
        """What the upstream counts; None where it does not."""
        provider = target.provider.name
        try:
            sent = relay.build(body, target.upstream_model, opener(self._engine.key, provider), [])
            headers = {"anthropic-beta": ",".join(betas)} if betas else {}
            async with asyncio.timeout(SECONDS):
                credential = expand([target])[0].credential
                response = await executor.open(orjson.dumps(sent), credential, headers, below="/count_tokens")
                try:
                    status, data = response.status, await response.read(ANSWER)
                finally:
                    response.close()
            answer = orjson.loads(data) if status == 200 else None
        except (Failure, TimeoutError, TypeError, ValueError) as error:
            log.debug("not_counted", provider=provider, reason=type(error).__name__)
            return None
        if status in NOTHING_THERE:
            self._silent.add(provider)
        counted = answer.get("input_tokens") if isinstance(answer, dict) else None
        return counted if isinstance(counted, int) and not isinstance(counted, bool) and counted >= 0 else None
