"""Promise 1 from the inside: whatever raises, wherever a turn is cancelled, it ends once and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.engine import engine as engine_module
from agentic_proxy.engine.pipeline import Pipeline
from agentic_proxy.engine.turn import Turn, TurnRequest
from agentic_proxy.executors import connection, direct
from agentic_proxy.executors.openai_compat import OpenAICompatible
from agentic_proxy.store.shared import SqlStore
from agentic_proxy.usage.sink import UsageSink
from support.breaks import CALL, LIFECYCLE, WHOLE, whole
from support.engines import (
    PATIENT,
    RecordingSink,
    body,
    eventually,
    kept,
    one_upstream,
    provider,
    run_turn,
    running_engine,
)
from support.raw_upstream import LAST, LIMIT, OK, STALL, RawUpstream, Script, chunk
from support.streams import events_of
from support.turns import Say
from support.wires import chat_frames
from translators.failure import Failure
from translators.items import PublicResponse
from translators.responses.encode import ResponsesEncoder

FRAMES = CALL["responses"]
SLOW: Script = (OK, chunk(b"".join(FRAMES[:2])), LIFECYCLE, chunk(b"".join(FRAMES[2:])), LAST)
"""Two socket reads: created, and when the client has seen it the rest."""

STAGES: dict[str, tuple[Any, str, int, bool]] = {
    "translate": (Turn, "translate", 1, False),
    "open": (OpenAICompatible, "open", 1, False),
    "first_read": (direct._Response, "read_some", 1, False),
    "second_read": (direct._Response, "read_some", 2, True),
    "first_feed": (Pipeline, "feed", 1, False),
    "second_feed": (Pipeline, "feed", 2, True),
    "first_encode": (ResponsesEncoder, "encode", 1, False),
    "second_encode": (ResponsesEncoder, "encode", 2, True),
    "last_encode": (ResponsesEncoder, "encode", 3, True),
    "end": (ResponsesEncoder, "end", 1, True),
    "settle": (Pipeline, "settle", 1, True),
    "judge": (Pipeline, "refusals", 1, True),
    "hand_on": (Pipeline, "hand_on", 1, True),
    "usage": (UsageSink, "append", 1, True),
    "first_object": (PublicResponse, "object", 1, False),
    "final_object": (PublicResponse, "object", 2, True),
    "save": (SqlStore, "commit", 1, True),
    "complete": (Pipeline, "complete", 1, True),
}
"""Owner, method, the call that raises, and whether a streaming client has been sent the head by then."""


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


def break_call(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, nth: int, error: Exception, *, last: int | None = None
) -> None:
    """Make the nth call raise, or all from the nth to the last one."""
    real = getattr(owner, name)
    calls = 0

    def broken(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if nth <= calls <= (last or nth):
            raise error
        return real(*args, **options)

    monkeypatch.setattr(owner, name, broken)


@pytest.mark.parametrize("kind", [RuntimeError, ConnectionResetError, KeyError])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.requirement("P1")
async def test_an_exception_anywhere_ends_a_stream_once(
    stage: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, nth, streamed = STAGES[stage]
    sink = RecordingSink()
    async with one_upstream("responses", SLOW) as (engine, upstream):
        upstream.seen = sink.seen
        break_call(monkeypatch, owner, name, nth, kind("SECRET bug"))
        outcome = await run_turn(engine, body(), sink)
        if streamed:
            assert (outcome.status, outcome.code) == (200, "server_error")
            assert "response.output_item.done" not in sink.kinds()
        else:
            assert (outcome.status, outcome.code) == (500, "internal_error")
            assert sink.writes == []
        assert b"SECRET" not in sink.data + str(outcome.failure).encode()
        assert len(engine.usage.records) == (0 if stage == "usage" else 1)
        await eventually(lambda: len(upstream.open) <= engine.transport._direct.idle)
        if stage not in ("complete", "end", "last_encode"):  # after the commit
            assert await kept(engine) == {}


@pytest.mark.parametrize("stage", [name for name in STAGES if name not in ("complete", "end")])
async def test_an_exception_anywhere_is_an_internal_error_for_a_blocking_client(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, nth, _ = STAGES[stage]
    async with one_upstream("responses", (OK, *map(chunk, FRAMES), LAST)) as (engine, upstream):
        break_call(monkeypatch, owner, name, 1 if "object" in stage else nth, RuntimeError("SECRET bug"))
        outcome = await run_turn(engine, body(), None)
        if "encode" in stage or name in ("read_some", "feed"):
            assert outcome.code in (None, "internal_error")  # nothing is encoded; one read may have brought all
        else:
            assert (outcome.status, outcome.code) == (500, "internal_error")
        await eventually(lambda: len(upstream.open) <= engine.transport._direct.idle)


@pytest.mark.parametrize("owner", [(PublicResponse, "object"), (Pipeline, "fail")], ids=["object", "fail"])
async def test_a_response_object_that_can_never_be_made_still_ends_the_stream(
    owner: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = RecordingSink()
    async with one_upstream("responses", SLOW) as (engine, upstream):
        upstream.seen = sink.seen
        break_call(monkeypatch, *owner, 2 if owner[1] == "object" else 1, RuntimeError("bug"), last=99)
        break_call(monkeypatch, SqlStore, "commit", 1, RuntimeError("bug"))
        outcome = await run_turn(engine, body(), sink)
    assert (outcome.status, outcome.code) == (200, "server_error")
    assert outcome.response is not None
    assert {"id", "object", "created_at", "model", "status", "output", "error"} <= outcome.response.keys()


async def test_a_broken_usage_sink_does_not_prevent_the_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = RecordingSink()
    async with one_upstream("responses", (OK, chunk(b"".join(FRAMES[:4])), LAST)) as (engine, _):
        break_call(monkeypatch, UsageSink, "append", 1, RuntimeError("bug"), last=99)
        outcome = await run_turn(engine, body(), sink)
    assert (outcome.status, outcome.code) == (200, "server_error")


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_a_turn_cancelled_at_any_step_leaves_nothing_behind(wire: str) -> None:
    script: Script = (OK, *(chunk(frame + b"\n\n") for frame in WHOLE[wire].split(b"\n\n") if frame), LAST)
    async with one_upstream(wire, script) as (engine, upstream):
        finished = False
        step = 0
        while not finished:
            seen, sink = len(upstream.requests), RecordingSink()
            engine.usage.records.clear()
            await engine.store.prune(1 << 40, 0)
            task = asyncio.create_task(engine.run(TurnRequest("responses", body(), True), sink))
            for _ in range(step):
                await asyncio.sleep(0)
            finished = task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert finished or task.cancelled()
            codes = [record.code for record in engine.usage.records]
            assert codes in ([], [None], ["client_gone"])
            assert not (codes == [] and len(upstream.requests) > seen)
            assert await kept(engine) == {} or codes == [None]
            await eventually(lambda: len(upstream.open) <= engine.transport._direct.idle)
            step += 1
        assert step > 10


async def test_a_client_that_goes_at_any_write_ends_the_upstream_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "DRAIN_SECONDS", 10 * LIMIT)
    frames = [chunk(frame) for frame in FRAMES]
    for writes in range(6):
        async with one_upstream("responses", (OK, *frames[:-1], STALL)) as (engine, upstream):
            sink = RecordingSink(fail_after=writes)
            request = TurnRequest("responses", body(), True)
            task = asyncio.create_task(engine.run(request, sink))
            if writes:
                all_shown = asyncio.create_task(sink.seen(b"arguments.delta"))
                await asyncio.wait((task, all_shown), return_when=asyncio.FIRST_COMPLETED)
                task.cancel()
                all_shown.cancel()
                await asyncio.gather(all_shown, return_exceptions=True)
            error = (await asyncio.gather(task, return_exceptions=True))[0]
            assert isinstance(error, ConnectionResetError | asyncio.CancelledError)
            await upstream.until(lambda each: not each.open)
            assert [record.code for record in engine.usage.records] == ["client_gone"]
            assert await kept(engine) == {}


async def test_three_hundred_aborted_streams_leave_no_task_and_no_connection() -> None:
    async with one_upstream("responses", (OK, chunk(b"".join(FRAMES[:4])), STALL)) as (engine, upstream):
        before = asyncio.all_tasks()
        for _ in range(10):
            sinks = [RecordingSink() for _ in range(30)]
            turns = [asyncio.create_task(engine.run(TurnRequest("responses", body(), True), sink)) for sink in sinks]
            await asyncio.gather(*(sink.seen(b"response.in_progress") for sink in sinks))
            for turn in turns:
                turn.cancel()
            await asyncio.gather(*turns, return_exceptions=True)
        await upstream.until(lambda each: not each.open)
        await eventually(lambda: asyncio.all_tasks() <= before)
        assert len(upstream.requests) == len(engine.usage.records) == 300
        assert {record.code for record in engine.usage.records} == {"client_gone"}
        assert engine.transport._direct._open == set()


class SlowStart(RecordingSink):
    """Fixing the response head takes several steps of the loop."""

    async def start(self) -> None:
        self.started = True
        self.starts += 1
        self.passed = 0
        while self.passed < 20:
            self.passed += 1
            await asyncio.sleep(0)


async def test_a_filler_that_is_being_written_goes_before_what_is_numbered_after_it() -> None:
    sink = SlowStart()
    quick = replace(PATIENT, keepalive_first=0.01)
    script: Script = (OK, LIFECYCLE, chunk(WHOLE["responses"]), LAST)
    async with one_upstream("responses", script, timeouts=quick) as (engine, upstream):

        async def head_begins(marker: bytes) -> None:
            await eventually(lambda: sink.started)

        upstream.seen = head_begins
        outcome = await run_turn(engine, body(), sink)
    assert (outcome.status, outcome.code) == (200, None)


async def test_a_text_that_is_no_unicode_is_refused_before_the_upstream_is_asked() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):
        request = TurnRequest("responses", body(metadata={"lone": "\ud800"}), False)
        with pytest.raises(Failure) as caught:
            await engine.run(request, None)
        assert caught.value.code == "invalid_request_error"
        assert upstream.requests == []


@pytest.mark.parametrize("store", [True, False])
async def test_half_a_character_that_stays_here_is_repeated_and_breaks_nothing(store: bool) -> None:
    """Metadata goes to no Chat upstream, so nobody before the client reads it."""
    frames = chat_frames({"model": "m"}, [Say("hello")], None)
    asked = {"model": "m", "input": "hi", "stream": True, "store": store, "metadata": {"cut": "x\ud83d"}}
    sink = RecordingSink()
    async with (
        RawUpstream((OK, *map(chunk, frames), LAST)) as upstream,
        running_engine(provider("up", upstream.url, "chat")) as engine,
    ):
        response = await engine.run(TurnRequest("responses", asked, True), sink)
    events = events_of(sink.data)
    assert (response["status"], events[-2]["type"]) == ("completed", "response.completed")
    assert {event["response"]["metadata"]["cut"] for event in events if "response" in event} == {"x\ud83d"}


@pytest.mark.parametrize("fail_after", [None, 1], ids=["read to its end", "client gone"])
async def test_a_turn_that_ended_leaves_memory_at_once(fail_after: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its request and its answer: the collector of cycles comes only after a million objects."""
    made: list[weakref.ref[Turn]] = []

    class Remembered(Turn):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(weakref.ref(self))

    monkeypatch.setattr(engine_module, "Turn", Remembered)
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        gc.disable()
        try:
            with suppress(ConnectionError):
                await engine.run(TurnRequest("responses", body(), True), RecordingSink(fail_after))
            await eventually(lambda: [turn() for turn in made] == [None])
        finally:
            gc.enable()
