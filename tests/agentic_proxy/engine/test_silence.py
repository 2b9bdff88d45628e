"""When a client hears nothing: first the head with created, then keepalives, and the numbers stay contiguous."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import pytest

from agentic_proxy.config.model import Timeouts
from agentic_proxy.engine.silence import Silence
from faults.matrix import ERROR
from support.breaks import IN_TEXT, WHOLE
from support.deadlines import Watched, let_pass
from support.engines import PATIENT, RecordingSink, body, eventually, one_upstream, run_turn
from support.raw_upstream import CLOSE, LAST, OK, STALL, Script, Seen, answer, chunk

QUICK = replace(PATIENT, keepalive_first=0.03, keepalive=0.03)
KEEPALIVE, LATER = Seen(b'"keepalive"'), Seen(b"keepalives after text")
FRAMES = [frame + b"\n\n" for frame in WHOLE["responses"].split(b"\n\n") if frame]


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time stands still until a test moves it."""

    now = 100.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    loop = Clock()
    yield loop
    loop.close()


def fillers(clock: Clock, moments: Sequence[float | Literal["touch"]]) -> list[float]:
    """When fillers came, from 100.0 on, if the clock shows these moments and nothing but a touch happens in between."""
    filled: list[float] = []

    async def fill() -> None:
        filled.append(clock.now)

    async def play() -> None:
        silence = Silence(Timeouts(keepalive_first=10.0, keepalive=15.0), fill)
        for moment in moments:
            if moment == "touch":
                silence.touch()
                continue
            clock.now = moment
            for _ in range(3):  # the timer, the task of the filler, and this one
                await asyncio.sleep(0)
        silence.stop()

    clock.run_until_complete(play())
    return filled


def test_fillers_come_after_the_first_wait_and_then_at_the_interval(clock: Clock) -> None:
    assert fillers(clock, (109.9, 110.1, 125.0, 125.2, 140.1, 140.3)) == [110.1, 125.2, 140.3]


def test_a_write_puts_the_next_filler_off(clock: Clock) -> None:
    moments = (109.0, "touch", 110.1, 120.0, 123.9, 124.1, "touch", 139.0, 139.2)
    assert fillers(clock, moments) == [124.1, 139.2]


async def test_a_filler_that_raises_is_logged_and_the_next_one_comes(capsys: pytest.CaptureFixture[str]) -> None:
    calls = 0

    async def fill() -> None:
        nonlocal calls
        calls += 1
        raise (RuntimeError("bug"), ConnectionResetError("gone"), RuntimeError("bug"))[min(calls, 3) - 1]

    silence = Silence(Timeouts(keepalive_first=0.01, keepalive=0.01), fill)
    await eventually(lambda: calls >= 3)
    silence.stop()
    await silence.idle()
    assert not silence.busy


async def test_stop_ends_a_filler_that_hangs() -> None:
    silence = Silence(Timeouts(keepalive_first=0.01, keepalive=0.01), asyncio.Event().wait)  # type: ignore[arg-type]
    await eventually(lambda: silence.busy)
    silence.stop()
    await silence.idle()
    assert not silence.busy


async def played(
    script: Script, timeouts: Timeouts = QUICK, *, sink: RecordingSink | None = None
) -> tuple[RecordingSink, int, str | None]:
    sink = sink or RecordingSink()
    async with one_upstream("responses", script, timeouts=timeouts) as (engine, upstream):

        async def seen(marker: bytes) -> None:
            if marker != LATER.marker:
                await sink.seen(marker)
            else:
                await eventually(lambda: sink.data.partition(b"partial text")[2].count(b'"keepalive"') >= 2)

        upstream.seen, upstream.silent = seen, let_pass
        outcome = await run_turn(engine, body(), sink)
        return sink, outcome.status, outcome.code


@pytest.mark.requirement("R18")
async def test_a_slow_upstream_gets_the_head_out_and_keepalives_between_its_events() -> None:
    middle = FRAMES.index(next(frame for frame in FRAMES if b"output_text.delta" in frame)) + 1
    script: Script = (OK, KEEPALIVE, chunk(b"".join(FRAMES[:middle])), LATER, chunk(b"".join(FRAMES[middle:])), LAST)
    sink, status, code = await played(script)
    kinds = sink.kinds()
    assert (status, code) == (200, None)
    assert kinds[:3] == ["response.created", "response.in_progress", "keepalive"]
    delta = kinds.index("response.output_text.delta")
    assert "keepalive" in kinds[delta:]
    without = [kind for kind in kinds if kind != "keepalive"]
    assert without[:4] == [
        *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
    ]
    assert without[-1] == "response.completed"
    assert b'event: keepalive\ndata: {"type":"keepalive","sequence_number":2}\n\n' in sink.data


@pytest.mark.requirement("R9")
async def test_a_fault_before_the_head_is_a_status_and_after_it_an_event() -> None:
    refused = answer(400, ERROR)
    _, *before = await played((refused,), PATIENT)
    sink, *after = await played((Seen(b"response.in_progress"), refused), replace(PATIENT, keepalive_first=0.03))
    assert before == [400, "odd_code"]
    assert after == [200, "invalid_prompt"]
    assert sink.kinds() == ["response.created", "response.in_progress", "response.failed"]


async def test_retries_and_failures_after_the_filler_keep_one_created() -> None:
    sink, status, code = await played((KEEPALIVE, CLOSE))
    kinds = sink.kinds()
    assert (status, code) == (200, "upstream_unreachable")
    assert kinds == ["response.created", "response.in_progress", *["keepalive"] * (len(kinds) - 3), "response.failed"]


async def test_an_upstream_that_stays_silent_times_out_however_often_keepalives_go_out() -> None:
    heard: list[float | None] = []

    class Sink(RecordingSink):
        async def write(self, data: bytes) -> None:
            await super().write(data)
            if b'"keepalive"' in data and b"partial text" in self.data:
                heard.extend(deadline.since for deadline in Watched.running)

    _, status, code = await played((OK, chunk(IN_TEXT["responses"]), LATER, STALL), sink=Sink())
    assert (status, code) == (200, "upstream_timeout")
    assert len(heard) >= 2 and len({*heard}) == 1 and heard[0] is not None, "a filler is nothing that the upstream said"


async def test_a_client_that_goes_during_the_silence_is_noticed_by_the_next_event() -> None:
    sink = RecordingSink(fail_after=0)
    async with one_upstream("responses", (OK, STALL), timeouts=QUICK) as (engine, upstream):
        task = asyncio.create_task(run_turn(engine, body(), sink))
        await eventually(lambda: sink.started)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await upstream.until(lambda each: not each.open)
        assert [record.code for record in engine.usage.records] == ["client_gone"]
