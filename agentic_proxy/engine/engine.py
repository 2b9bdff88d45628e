"""Engine: what the turns of one configuration share."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable

import structlog

from agentic_proxy.config.model import Config
from agentic_proxy.engine.compacting import compact
from agentic_proxy.engine.counting import Counting
from agentic_proxy.engine.course import Courses
from agentic_proxy.engine.delivery import Sink
from agentic_proxy.engine.gateway_tools import GatewayTools
from agentic_proxy.engine.holds import Holds
from agentic_proxy.engine.lessons import unspoken
from agentic_proxy.engine.model_lists import ModelLists
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.prewarm import prewarm
from agentic_proxy.engine.rehydrate import rehydrate
from agentic_proxy.engine.shared import Shared
from agentic_proxy.engine.turn import Turn, TurnRequest
from agentic_proxy.executors.base import Executor, Transport
from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.registry import executors_by_client, make_executor
from agentic_proxy.routing.models import ModelTable, Target
from agentic_proxy.store.base import Store
from translators.events import Json, Note
from translators.responses.compaction import expand
from translators.responses.tokens import estimate

log = structlog.get_logger("agentic_proxy.engine")
NOTES_REMEMBERED = 10_000


class Engine:
    """One configuration at work: its executors, model lists, routing and tools, over what all configurations share.

    ``holds`` is entered by whoever uses it, so that ``retire`` knows when the last one has gone.
    """

    def __init__(self, config: Config, transport: Transport, shared: Shared) -> None:
        self.config = config
        self.transport = transport
        self.shared = shared
        self.store: Store = shared.store
        self.usage = shared.usage
        self.lessons = shared.lessons
        self.outages = shared.outages
        self.previews = shared.previews
        self.repeats = shared.repeats
        self.recall = shared.recall
        self.background = shared.background
        self.key = shared.key
        usable = [provider for provider in config.providers if provider.available]
        self.executors: dict[str, Executor] = {each.name: make_executor(each, transport) for each in usable}
        self._by_client = {each.name: executors_by_client(each, transport) for each in usable}
        self.models = ModelLists(ModelTable(config.providers, config.models), self.executors)
        self.courses = Courses(config, shared.outages, time.time, shared.seats)
        self.gateway = GatewayTools(config)
        self.counting = Counting(self)
        self.holds = Holds()
        self._noted: set[tuple[str, str, str]] = set()

    @classmethod
    async def create(cls, config: Config) -> Engine:
        """The first engine of a process, with everything that later ones share. Raises Failure ``store_failed``."""
        shared = await Shared.open(config)
        try:
            return cls(config, HttpTransport(config.timeouts.connect), shared)
        except BaseException:
            await shared.close()
            raise

    def successor(self, config: Config) -> Engine:
        """The engine of another configuration, over the same shared things. Its store must be the same."""
        engine = Engine(config, HttpTransport(config.timeouts.connect), self.shared)
        self.shared.store.keep(config.store.retention)
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
                return await self.background.create(self, request, sink)
            # The WebSocket mode of the API does not know them; whoever listens there is there.
            request.body = {**request.body, "background": False}
        return await Turn(self, request, sink).run()

    async def compact(self, body: Json, opened: OpenRequest | None = None) -> Json:
        """Answer ``POST /v1/responses/compact``; returns the compaction object. Raises Failure."""
        turn = Turn(self, TurnRequest("responses", body, False, opened=opened), None)
        answer = await compact(turn)
        turn.opened.answered("completed")
        return answer

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
        events = await prewarm(self, request)
        if request.opened is not None:
            request.opened.response_id = request.id
            request.opened.answered("completed")
        return events

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

    async def retire(self) -> None:
        """Wait until the last user has gone, then close what is this engine's own; at once when cancelled."""
        try:
            await self.holds.released()
        finally:
            await self._close_own()

    async def close(self) -> None:
        """Close everything, also what is shared. No other engine may be at work over it."""
        await self.background.close(0)
        await self._close_own()
        await self.shared.close()

    async def _close_own(self) -> None:
        await self.models.close()
        await self.gateway.close()
        await self.transport.close()
