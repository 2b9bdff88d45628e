"""Engine: what all turns share. Made once per configuration."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Collection, Hashable
from pathlib import Path

import structlog

from agentic_proxy.config.keys import KEY_SIZE, local_key
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import state_directory
from agentic_proxy.engine.background import Background
from agentic_proxy.engine.compacting import compact
from agentic_proxy.engine.course import Courses
from agentic_proxy.engine.delivery import Sink
from agentic_proxy.engine.gateway_tools import GatewayTools
from agentic_proxy.engine.lessons import LESSONS_FILE, Lessons, unspoken
from agentic_proxy.engine.model_lists import ModelLists
from agentic_proxy.engine.outages import FILE as COOLDOWNS_FILE
from agentic_proxy.engine.outages import Outages
from agentic_proxy.engine.preview import Previews
from agentic_proxy.engine.prewarm import prewarm
from agentic_proxy.engine.recall import Recall
from agentic_proxy.engine.rehydrate import rehydrate
from agentic_proxy.engine.repeats import Repeats
from agentic_proxy.engine.turn import Turn, TurnRequest
from agentic_proxy.executors.base import Executor, Transport
from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.registry import executors_by_client, make_executor
from agentic_proxy.routing.models import ModelTable, Target
from agentic_proxy.store.base import Store
from agentic_proxy.store.open import POSTGRES, open_store
from agentic_proxy.store.state_file import StateFile
from agentic_proxy.usage.sink import UsageSink
from translators.events import Json, Note
from translators.responses.compaction import expand
from translators.responses.tokens import estimate

log = structlog.get_logger("agentic_proxy.engine")
NOTES_REMEMBERED = 10_000


def _key(state: Path) -> bytes | None:
    try:
        return local_key(state)
    except (OSError, ValueError) as error:
        log.warning("local_key_unavailable", reason=str(error), effect="sealed reasoning is lost at a restart")
        return None


class Engine:
    """Configuration, executors, model lists, store and usage sink."""

    def __init__(
        self,
        config: Config,
        transport: Transport,
        store: Store,
        usage: UsageSink,
        *,
        key: bytes | None = None,
        lessons: Lessons | None = None,
        outages: Outages | None = None,
    ) -> None:
        self.config = config
        self.transport = transport
        self.store = store
        self.usage = usage
        usable = [provider for provider in config.providers if provider.available]
        self.executors: dict[str, Executor] = {each.name: make_executor(each, transport) for each in usable}
        self._by_client = {each.name: executors_by_client(each, transport) for each in usable}
        self.models = ModelLists(ModelTable(config.providers, config.models), self.executors)
        self.previews = Previews()
        self.repeats = Repeats(time.monotonic)
        self.lessons = lessons or Lessons(None, time.time)
        self.outages = outages or Outages(None, time.time)
        self.courses = Courses(config, self.outages, time.time)
        self.recall = Recall()
        self.key = key or secrets.token_bytes(KEY_SIZE)
        """Authenticates what travels through clients."""
        self.gateway = GatewayTools(config)
        self.background = Background(self)
        self._noted: set[tuple[str, str, str]] = set()

    @classmethod
    async def create(cls, config: Config) -> Engine:
        """An engine with its own transport and store."""
        state = state_directory(os.environ)
        lessons = Lessons(StateFile(state / LESSONS_FILE), time.time)
        outages = Outages(StateFile(state / COOLDOWNS_FILE), time.time)
        transport, store = HttpTransport(config.timeouts.connect), await open_store(config)
        key = _key(state)
        if config.store.url.startswith(POSTGRES):
            # Its proxies may be on many machines, and each must read what another one sealed.
            key = await store.shared_key("local", key or secrets.token_bytes(KEY_SIZE))
        engine = cls(config, transport, store, UsageSink(), key=key, lessons=lessons, outages=outages)
        await engine.background.recover()
        return engine

    def executor(self, target: Target, client: str, lessons: Collection[str] = ()) -> Executor:
        """Who asks a target for a client of this format: with ``wire: auto`` in that format, unless the provider does
        not speak it or ``lessons`` say that it turned out not to."""
        name = target.provider.name
        other = self._by_client[name].get(client)
        return self.executors[name] if other is None or unspoken(client) in lessons else other

    async def run(self, request: TurnRequest, sink: Sink | None) -> Json:
        """Run one turn; returns the final response object. With a sink the stream is written to it on the way.

        Raises Failure only if nothing was sent yet.
        """
        if request.body.get("background"):
            if request.local is None:
                return await self.background.create(request, sink)
            # The WebSocket mode of the API does not know them; whoever listens there is there.
            request.body = {**request.body, "background": False}
        return await Turn(self, request, sink).run()

    async def compact(self, body: Json) -> Json:
        """Answer ``POST /v1/responses/compact``; returns the compaction object. Raises Failure."""
        return await compact(Turn(self, TurnRequest("responses", body, False), None))

    async def count_tokens(self, body: Json) -> int:
        """Estimated input tokens of a request with its whole history. Raises Failure for one that continues what is
        not there."""
        whole = (await rehydrate(body, self.store)).body
        items = whole.get("input")
        if isinstance(items, list):
            whole = {**whole, "input": expand(items, self.key, foreign=True)[0]}
        return estimate(whole)

    async def prewarm(self, request: TurnRequest) -> bytes:
        """Answer a request with ``generate: false``; returns its encoded events. Raises Failure."""
        return await prewarm(self, request)

    def note_once(self, target: Target, notes: list[Note]) -> None:
        """Log what a converting route left out: once per model and rule."""
        for note in notes:
            key = (target.provider.name, target.upstream_model, note.rule)
            if key not in self._noted and len(self._noted) < NOTES_REMEMBERED:
                self._noted.add(key)
                log.info("left_out", provider=key[0], model=key[1], rule=note.rule, path=note.path)

    async def drain(self, seconds: float) -> None:
        """Take no further background response, let the running ones finish for ``seconds``, fail the rest."""
        await self.background.close(seconds)

    def warn_once(self, event: str, target: Target, **said: Hashable) -> None:
        """Log what a person should know about a model: once for the same words."""
        key = (target.provider.name, target.upstream_model, f"{event} {hash(tuple(said.values()))}")
        if key not in self._noted and len(self._noted) < NOTES_REMEMBERED:
            self._noted.add(key)
            log.warning(event, provider=key[0], model=key[1], **said)

    async def close(self) -> None:
        """Close upstream connections, store and sink."""
        await self.background.close(0)
        self.usage.flush()
        await self.models.close()
        await self.gateway.close()
        await asyncio.gather(self.transport.close(), self.store.close(), self.outages.close())
