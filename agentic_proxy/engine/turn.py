"""Turn: one client request becomes one public response, with exactly one ending.

The order of things: resolve the model, rehydrate, run rounds of attempts while events stream out, judge, commit, then
the held events and the terminal in one write. Whatever goes wrong before anything was sent is raised as a Failure (an
HTTP status); afterwards it is one ``response.failed``.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import orjson
import structlog

from agentic_proxy.engine import rounds
from agentic_proxy.engine.persist import persist
from agentic_proxy.engine.pipeline import Pipeline
from agentic_proxy.engine.rehydrate import rehydrate
from agentic_proxy.engine.silence import Silence
from agentic_proxy.executors.base import Executor
from agentic_proxy.observe.redact import redact
from agentic_proxy.routing.models import Target
from agentic_proxy.usage.record import UsageRecord
from translators.close import Close
from translators.events import Json, Note
from translators.failure import Failure
from translators.items import PublicResponse
from translators.registry import CLIENTS, UPSTREAMS, UpstreamFormat
from translators.tools.declarations import ToolMap
from translators.tools.functions import to_functions

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine

log = structlog.get_logger("agentic_proxy.turn")

SHUTDOWN = "server_shutdown"
"""The message with which the server cancels the turns that outlast its drain; any other cancellation means that the
client is gone."""


@dataclass(slots=True)
class TurnRequest:
    """What a handler read: the client's format, its parsed body, and whether it wants a stream."""

    client: str
    body: Json
    stream: bool


class Sink(Protocol):
    """Where a stream is written. ``started`` tells whether the response head is out."""

    started: bool

    async def start(self) -> None: ...

    async def write(self, data: bytes) -> None: ...


class Turn:
    """The state of one public response while it is made."""

    def __init__(self, engine: Engine, request: TurnRequest, sink: Sink | None) -> None:
        self.engine = engine
        self.request = request
        self._sink = sink
        self._client = CLIENTS[request.client]
        self._body = request.body
        model = request.body.get("model") or engine.config.models.default or ""
        self._public = PublicResponse(f"resp_{secrets.token_hex(16)}", int(time.time()), model, request.body)
        encoder = self._client.encoder() if sink is not None else None
        self.pipeline = Pipeline(self._public, encoder, engine.config.limits)
        self._translated: tuple[Target, tuple[UpstreamFormat, bytes, ToolMap | None, tuple[str, ...]]] | None = None
        self._usage: Json | None = None
        self._target: Target | None = None
        self._started = 0.0
        self._silence: Silence | None = None
        self._terminal_sent = False
        self._writing = False
        self._client_gone = False

    @property
    def committed(self) -> bool:
        """Whether content has reached the client: no other attempt may take over."""
        return self._sink is not None and self.pipeline.lifecycle.content

    async def run(self) -> Json:
        """Run the turn to its one ending; returns the final response object, raises Failure if nothing was sent."""
        try:
            return await self._run()
        except Failure as failure:
            return await self._fail(failure)
        except asyncio.CancelledError as cancelled:
            if SHUTDOWN in cancelled.args and self._sink is not None and self._sink.started:
                return await self._fail(Failure("server_shutdown", "The proxy was stopped before the response ended."))
            self._abandon()
            raise
        except Exception:
            if self._client_gone:
                self._abandon()
                raise
            log.exception("turn_failed", response_id=self._public.id)
            text = f"The proxy made a mistake; its log has the details under {self._public.id}."
            return await self._fail(Failure("internal_error", text))
        finally:
            if self._silence is not None:
                self._silence.stop()

    async def _run(self) -> Json:
        engine = self.engine
        targets = await engine.models.resolve(self.request.body.get("model"))
        self._body = await rehydrate(self.request.body, engine.store)
        if self._sink is not None:
            self._silence = Silence(engine.config.timeouts, self._fill)
        close = await rounds.run(self, targets)
        response = self._public.object(
            close.status,
            self.pipeline.output(),
            usage=self._usage,
            incomplete_reason=close.reason,
            completed_at=int(time.time()) if close.status == "completed" else None,
            upstream=close.response,
        )
        await persist(engine.store, self._body, response)
        await self._end(self.pipeline.complete(f"response.{close.status}", response))
        return response

    def translate(self, target: Target, executor: Executor) -> tuple[UpstreamFormat, bytes, ToolMap | None]:
        """The upstream request for a target: format, body bytes, and the tools by the names it knows."""
        if self._translated is None or self._translated[0] is not target:
            format_ = UPSTREAMS[executor.wire]
            tools: ToolMap | None = None
            body = self._body
            notes: list[Note] = []
            if not (format_.native_tools and target.provider.custom_tools == "native"):
                body, tools, notes = to_functions(body, hosted=executor.dialect.hosted_tools)
            upstream_body, more = format_.build(body, target.upstream_model, executor.dialect)
            notes = [*notes, *more]
            self.engine.note_once(target, notes)
            rules = tuple(dict.fromkeys(note.rule for note in notes))
            self._translated = (target, (format_, _dump(upstream_body), tools, rules))
        format_, data, tools, _ = self._translated[1]
        return format_, data, tools

    def wants_another_round(self, close: Close) -> bool:
        """Whether the proxy itself has to act on this round's calls: gateway tools and corrective retries."""
        return False

    def start_attempt(self, target: Target) -> None:
        """Note which target is asked, for the usage record."""
        self._target, self._started = target, time.monotonic()

    def end_attempt(
        self, failure: Failure | None, close: Close | None = None, refusals: list[Failure] | None = None
    ) -> Failure:
        """Write the attempt's one usage record; returns the failure with its message made safe to show."""
        target, usage = self._target, close.usage if close is not None else None
        if refusals and close is not None and close.status == "completed":
            failure = refusals[0]
        if failure is not None and failure.side == "upstream":
            failure.message = redact(failure.message)
        if target is not None:
            self._target = None
            self._record(target, failure, usage)
        self._usage = _sum(self._usage, usage)
        return failure if failure is not None else Failure("internal_error", "")

    def _record(self, target: Target, failure: Failure | None, usage: Json | None) -> None:
        given = usage or {}
        rules = self._translated[1][3] if self._translated is not None else ()
        self.engine.usage.append(
            UsageRecord(
                at=time.time(),
                response_id=self._public.id,
                client_format=self.request.client,
                model=self._public.model,
                provider=target.provider.name,
                upstream_model=target.upstream_model,
                seconds=time.monotonic() - self._started,
                code=failure.code if failure is not None else None,
                input_tokens=given.get("input_tokens", 0),
                cached_tokens=given.get("input_tokens_details", {}).get("cached_tokens", 0),
                output_tokens=given.get("output_tokens", 0),
                reasoning_tokens=given.get("output_tokens_details", {}).get("reasoning_tokens", 0),
                notes=rules,
            )
        )

    async def write(self, data: bytes) -> None:
        """Send bytes to the client, the response head first. Raises ConnectionError when the client is gone."""
        sink, silence = self._sink, self._silence
        if sink is None:
            return
        # These bytes are numbered already: a filler that is on its way goes first, another must not begin.
        self._writing = True
        try:
            if silence is not None:
                silence.touch()
                if silence.busy:
                    await silence.idle()
            await self._send(sink, data)
        finally:
            self._writing = False

    async def _send(self, sink: Sink, data: bytes) -> None:
        try:
            if not sink.started:
                await sink.start()
            await sink.write(data)
        except ConnectionError:
            self._client_gone = True
            raise

    async def _fill(self) -> None:
        """The client has heard nothing for a while: send the head with created, later a keepalive event."""
        pipeline, sink = self.pipeline, self._sink
        if self._writing or sink is None:
            return
        data = pipeline.keepalive() if pipeline.lifecycle.opened else pipeline.open()
        if data:
            await self._send(sink, data)

    async def _end(self, data: bytes) -> None:
        if data:
            self._terminal_sent = True
            await self.write(data)

    async def _fail(self, failure: Failure) -> Json:
        """One ending for every fault: raised when nothing was sent, else ``response.failed``."""
        failure = self._account(failure)
        sink = self._sink
        if self._silence is not None and self._silence.busy:
            await self._silence.idle()
        if sink is None or not sink.started:
            raise failure
        if not self._terminal_sent:
            await self._end(self._failed(failure))
        error = {"code": failure.stream_code, "message": failure.message}
        return {"id": self._public.id, "object": "response", "status": "failed", "error": error, "output": []}

    def _failed(self, failure: Failure) -> bytes:
        try:
            return self.pipeline.fail(failure, self._usage)
        except Exception:
            log.exception("turn_failed_twice", response_id=self._public.id)
            return self.pipeline.last_words(failure)

    def _account(self, failure: Failure) -> Failure:
        """``end_attempt`` on the way to an ending, which a broken usage sink must not prevent."""
        try:
            return self.end_attempt(failure)
        except Exception:
            log.exception("usage_lost", response_id=self._public.id)
            return failure

    def _abandon(self) -> None:
        """The client is gone: nobody reads an ending."""
        self._account(Failure("client_gone", "The client closed the connection."))


def _dump(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError as error:
        text = "The request holds text that is not valid Unicode (a lone surrogate) or a number out of range."
        raise Failure("invalid_request_error", text) from error


def _sum(total: Json | None, more: Json | None) -> Json | None:
    """Usage over rounds: numbers add up, details too."""
    if total is None or more is None:
        return more if total is None else total
    return {
        key: _sum(value, more.get(key)) if isinstance(value, dict) else value + more.get(key, 0)
        for key, value in total.items()
    }
