"""Turn: one client request becomes one public response, with exactly one ending.

The order of things: resolve the model, rehydrate, run rounds of attempts while events stream out, judge, commit, then
the held events and the terminal in one write. Whatever goes wrong before anything was sent is raised as a Failure (an
HTTP status); afterwards it is one ``response.failed``.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from agentic_proxy.config.model import PatchMode
from agentic_proxy.engine import compaction, relay, rounds, searches, translation
from agentic_proxy.engine.account import Account
from agentic_proxy.engine.delivery import Delivery, Sink
from agentic_proxy.engine.gateway import Gateway, freed
from agentic_proxy.engine.lessons import Trial
from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.persist import finished, identified, persist, stores
from agentic_proxy.engine.pipeline import Pipeline
from agentic_proxy.engine.rehydrate import Past, items_of, rehydrate
from agentic_proxy.engine.repeats import fingerprint
from agentic_proxy.engine.translation import Translation
from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target
from agentic_proxy.store.base import FinishedTurn, Status
from translators.events import Json, Note
from translators.failure import Failure
from translators.items import PublicResponse
from translators.registry import CLIENTS

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine

log = structlog.get_logger("agentic_proxy.turn")

SHUTDOWN = "server_shutdown"
"""The message with which the server cancels the turns that outlast its drain; any other cancellation means that the
client is gone."""
CANCELLED = "response_cancelled"
"""The message with which a client's own cancellation of a running response comes in."""

KEEPALIVE_COMMENT = b": keepalive\n\n"

UNKEPT = frozenset({"conversation_locked", "conversation_not_found", "store_failed"})
"""Codes of failures to store a response: it must not, or cannot, be stored as failed either."""


@dataclass(slots=True)
class TurnRequest:
    """What a handler read: the client's format, its parsed body, and whether it wants a stream."""

    client: str
    body: Json
    stream: bool
    local: LocalWindows | None = None
    """What the client's connection remembers, if it is one that does."""
    session: str | None = None
    """The client's own name for what its requests belong to, from a header."""
    original: Json | None = None
    """The client's own body where its format is not the hub's."""
    notes: tuple[Note, ...] = ()
    """What that body lost on its way into the hub."""
    betas: tuple[str, ...] = ()
    """Known betas that a Messages client named."""
    id: str = field(default_factory=lambda: f"resp_{secrets.token_hex(16)}")
    """The public id that the response gets."""
    opened: OpenRequest | None = None
    """What is told of the request; None: nothing, for it is the proxy's own."""


class Turn:
    """The state of one public response while it is made. ``own``: a request of the proxy's own, to which nothing is
    added."""

    def __init__(self, engine: Engine, request: TurnRequest, sink: Sink | None, *, own: bool = False) -> None:
        self.engine = engine
        self.request = request
        self._targets: list[Target] | None = None
        self._past = Past(request.body, [])
        self._body = request.body
        """The request with its whole history, in client shape: what is stored."""
        self._asked: list[Json] = []
        """What later rounds of this turn add to the history; never stored, never shown."""
        model = request.body.get("model") or engine.config.models.default or ""
        public = PublicResponse(request.id, int(time.time()), model, request.body)
        self._public = public
        format_, asked = CLIENTS[request.client], request.original or request.body
        encoder = format_.encoder(public, asked) if sink is not None else None
        self.pipeline = Pipeline(public, encoder, engine.config.limits)
        opened = self.opened = request.opened or OpenRequest(None, request.client)
        opened.read({"model": model})
        opened.response_id = public.id
        self.account = Account(engine, opened)
        self.delivery = Delivery(sink)
        self._translated: tuple[Target, Translation] | None = None
        self.trial = Trial(engine.lessons)
        self.served: Candidate | None = None
        """Who answered the last round."""
        self._terminal_sent = False
        self.kept = False
        """Whether the store has the end of a response that it is to keep."""
        self._gateway: Gateway | None = None
        self._own = own

    @property
    def committed(self) -> bool:
        """Whether content has reached the client: no other attempt may take over."""
        return self.delivery.streams and self.pipeline.lifecycle.content

    async def run(self) -> Json:
        """Run the turn to its one ending; returns the final response object, raises Failure if nothing was sent."""
        try:
            return await self._run()
        except Failure as failure:
            return await self._fail(failure)
        except asyncio.CancelledError as cancelled:
            if self.delivery.started:
                if SHUTDOWN in cancelled.args:
                    text = "The proxy was stopped before the response ended."
                    return await self._fail(Failure("server_shutdown", text))
                if CANCELLED in cancelled.args:
                    return await self._fail(Failure("response_cancelled", "The client cancelled the response."))
            self._abandon(stopped=SHUTDOWN in cancelled.args)
            raise
        except Exception:
            if self.delivery.client_gone:
                self._abandon()
                raise
            log.exception("turn_failed", request_id=self.opened.id, response_id=self._public.id)
            text = f"The proxy made a mistake; its log has the details under {self._public.id}."
            return await self._fail(Failure("internal_error", text))
        finally:
            self.delivery.stop()

    @property
    def id(self) -> str:
        """The public id of the response."""
        return self._public.id

    @property
    def suffix(self) -> str:
        """The part of the id from which the ids of its items are made."""
        return self._public.suffix

    @property
    def created_at(self) -> int:
        """Unix seconds."""
        return self._public.created_at

    @property
    def model(self) -> str:
        """The name that the client sent."""
        return self._public.model

    @property
    def stored(self) -> bool:
        """Whether the response is to be kept in the store."""
        return stores(self.request.body)

    @property
    def _background(self) -> bool:
        return self._public.background

    @property
    def gateway(self) -> Gateway:
        """The proxy's own tools in this turn: none before it is prepared."""
        if self._gateway is None:
            self._gateway = Gateway(self.engine, [], {})
        return self._gateway

    async def prepare(self) -> list[Target]:
        """Everything that can be wrong with a request before an upstream is asked: the targets, the history, the
        store. Raises Failure."""
        if self._targets is None:
            engine = self.engine
            targets = await engine.models.resolve(self.request.body.get("model"))
            past = await rehydrate(self.request.body, engine.store, self.request.local)
            if self.stored:
                await engine.store.ready()
            if self.stored or self.request.local is not None:
                past = identified(past, self._public.id)
            self._body = searches.recalled(engine.recall, past.body)
            # Nobody must find a request for a summary in a history.
            self._past = compaction.without_trigger(past)
            self._gateway = Gateway(engine, targets, past.body, len(past.new), always=not self._own)
            self._targets = targets
        return self._targets

    def begun(self) -> FinishedTurn:
        """What the store keeps of a background response while it runs."""
        return finished(self._past, self.snapshot("in_progress"), background=True)

    def snapshot(self, status: Status) -> Json:
        """The Response object before there is any output."""
        return self._public.object(status, [])

    async def _run(self) -> Json:
        targets = await self.prepare()
        self.delivery.watch(self.engine.config.timeouts, self._filler)
        asked = compaction.asked(self)
        if asked and not compaction.is_native(self, targets):
            close = await compaction.run(self)
        else:
            close = await rounds.run(self, targets)
            if asked:
                compaction.check(self.pipeline.output())
        response = self._public.object(
            close.status,
            self.pipeline.output(),
            usage=self.account.usage,
            incomplete_reason=close.reason,
            completed_at=int(time.time()) if close.status == "completed" else None,
            upstream=close.response,
        )
        if not await self._persist(response):
            raise Failure("response_cancelled", "The response was cancelled or deleted while it was being made.")
        self.opened.answered(close.status)
        await self._end(self.pipeline.complete(f"response.{close.status}", response))
        return response

    def translate(self, target: Target, executor: Executor) -> Translation:
        """The upstream request for a target, made once per round."""
        if self._translated is None or self._translated[0] is not target:
            body = self.body
            shown = self.delivery.streams
            lessons = self.trial.ids(target)
            asked = self.request
            unchanged = body.get("input") is asked.body.get("input")
            original = asked.original if unchanged and not self._asked else None
            made = relay.translate(self, target, executor, original, lessons) if original is not None else None
            self._translated = (
                target,
                made
                or translation.translate(
                    self.engine,
                    body,
                    target,
                    executor,
                    shown=shown,
                    lessons=lessons,
                    client=asked.client,
                    noted=asked.notes,
                    offer=self.gateway.offer,
                ),
            )
        self.account.note(self._translated[1].rules, self.trial.ids(target))
        return self._translated[1]

    def retranslate(self) -> None:
        """A refusal taught something: the same request again, made anew."""
        self._translated = None

    async def _persist(self, response: Json) -> bool:
        """Commit. Cancellations that come meanwhile and that the client is told of (its own, or the server's shutdown)
        are too late: what the store keeps is what the client gets."""
        store, local = self.engine.store, self.request.local
        if local is None and not self.stored:
            return True
        internal = self.gateway.internal
        commit = asyncio.ensure_future(
            persist(store, self._past, response, local, background=self._background, internal=internal)
        )
        while True:
            try:
                done = await asyncio.shield(commit)
                self.kept = True
                return done
            except asyncio.CancelledError as cancelled:
                if not self.delivery.started or not {SHUTDOWN, CANCELLED} & set(cancelled.args):
                    commit.cancel()
                    raise
                task = asyncio.current_task()
                if task is not None:
                    task.uncancel()

    async def ask(self, body: Json) -> Json:
        """A request of the proxy's own on the way, unseen and unstored; its usage is this turn's. Returns the final
        response object, raises Failure."""
        inner = Turn(self.engine, TurnRequest("responses", body, False), None, own=True)
        inner.account = self.account
        try:
            return await inner.run()
        finally:
            self.opened.route = self.opened.route or inner.opened.route

    @property
    def body(self) -> Json:
        """The request with its whole history so far, what earlier rounds added included."""
        if not self._asked:
            return self._body
        items = items_of(self._body.get("input"))
        whole = compaction.without_last_trigger(items)
        # A trigger counts only where it is the last item.
        return {**self._body, "input": [*whole, *self._asked, *items[len(whole) :]]}

    def rewrite(self, items: list[Json]) -> None:
        """From now on the history is this one; what is stored stays as it is."""
        self._body = {**self._body, "input": items}
        self._asked = []
        self._translated = None

    def extend(self, items: list[Json]) -> None:
        """Another round follows, with these items behind the history."""
        self._asked += items
        self._translated = None

    def next_round(self, items: list[Json]) -> None:
        """The model goes on with what own tools brought; nothing that it says now has reached the client yet."""
        self._body = {**self._body, "tool_choice": freed(self._body.get("tool_choice"))}
        self.extend(items)
        self.pipeline.lifecycle.content = False

    @property
    def mode(self) -> PatchMode | None:
        """How the last upstream's calls are treated."""
        return self._translated[1].bridge.mode if self._translated is not None else None

    def fingerprint(self) -> bytes:
        """What tells this request from others."""
        return fingerprint(self._public.model, self._body)

    async def write(self, data: bytes) -> None:
        """Send bytes to the client. Raises ConnectionError when it is gone."""
        await self.delivery.write(data)

    def _filler(self) -> bytes:
        pipeline = self.pipeline
        if not pipeline.lifecycle.opened:
            return pipeline.open()
        comment = self.engine.config.timeouts.keepalive_form == "comment" and self.request.local is None
        return KEEPALIVE_COMMENT if comment else pipeline.keepalive()

    async def _end(self, data: bytes) -> None:
        if data:
            self._terminal_sent = True
            await self.write(data)

    async def _fail(self, failure: Failure) -> Json:
        """One ending for every fault: raised when nothing was sent, else ``response.failed``."""
        failure = self._booked(failure)
        if self.request.local is not None:
            # Clients expect that a failed continuation cannot be continued from the same place (Open Responses).
            self.request.local.forget(self.request.body.get("previous_response_id") or "")
        await self.delivery.quiet()
        begun = self.delivery.started or (self.delivery.streams and self.pipeline.head_due)
        self.opened.failed(failure, begun=begun)
        if not begun:
            raise failure
        response = await self._keep_failed(failure)
        if not self._terminal_sent:
            await self._end(self._failed(failure))
        return response

    async def _keep_failed(self, failure: Failure) -> Json:
        """A response that its client knows of can be retrieved, failed as it is. Nothing is kept of one that lost its
        history to somebody else."""
        error = {"code": failure.stream_code, "message": failure.message}
        response: Json = {"id": self.id, "object": "response", "status": "failed", "error": error, "output": []}
        try:
            response = self.pipeline.lifecycle.failed(failure, self.account.usage)
            if failure.code == "response_cancelled" and self._background:
                response = {**response, "status": "cancelled", "error": None}
            if self.stored and self._targets is not None and (self._background or failure.code not in UNKEPT):
                await self._persist(response)
        except Failure as lost:
            log.warning("failed_response_not_kept", response_id=self.id, code=lost.code)
        except Exception:
            log.exception("failed_response_not_kept", response_id=self.id)
        return response

    def _failed(self, failure: Failure) -> bytes:
        try:
            return self.pipeline.fail(failure, self.account.usage)
        except Exception:
            log.exception("turn_failed_twice", response_id=self._public.id)
            return self.pipeline.last_words(failure)

    def _booked(self, failure: Failure) -> Failure:
        """The open attempt's record, on the way to an ending that a broken usage sink must not prevent."""
        try:
            return self.account.failed(failure)
        except Exception:
            log.exception("usage_lost", response_id=self._public.id)
            return failure

    def _abandon(self, *, stopped: bool = False) -> None:
        """Nobody reads an ending: the client is gone, or the server stops before it sent anything."""
        gone = self._booked(Failure("client_gone", "The client closed the connection."))
        told = Failure("server_shutdown", "The proxy was stopped.") if stopped else gone
        self.opened.failed(told, begun=self.delivery.started)
