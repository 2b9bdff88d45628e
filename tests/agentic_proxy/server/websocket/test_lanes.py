"""Jobs of one lane one after another, lanes beside each other, and nothing lost when something is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.server.websocket.lanes import Job, Lanes
from agentic_proxy.usage.base import RequestRecord
from agentic_proxy.usage.sink import UsageSink
from support.engines import eventually
from support.raw_upstream import LIMIT
from translators.failure import Failure


class Runner:
    """Runs jobs until their gate opens. ``log`` says what happened, by the job's name."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    async def __call__(self, job: Job) -> None:
        name = job.body["name"]
        self.log.append(f"{name} begins" + (" cancelled" if job.cancelled else ""))
        if job.cancelled:
            return
        try:
            await self.gates.setdefault(name, asyncio.Event()).wait()
        except asyncio.CancelledError as error:
            self.log.append(f"{name} is told {error.args[0] if error.args else 'to go'}")
            raise
        if name.startswith("bad"):
            raise ValueError(name)
        self.log.append(f"{name} ends")

    def open(self, name: str) -> None:
        self.gates.setdefault(name, asyncio.Event()).set()


def job(name: str, stream: str | None = None, size: int = 1) -> Job:
    return Job({"name": name}, stream, size, OpenRequest(None, "responses"))


@pytest.fixture
def runner() -> Runner:
    return Runner()


async def test_a_lane_is_first_in_first_out_and_lanes_do_not_wait_for_each_other(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    for each in (job("1"), job("2"), job("a", "a")):
        lanes.add(each)
    await eventually(lambda: runner.log == ["1 begins", "a begins"])
    runner.open("2")
    runner.open("a")
    await eventually(lambda: runner.log[2:] == ["a ends"])
    runner.open("1")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert runner.log[3:] == ["1 ends", "2 begins", "2 ends"]


async def test_a_job_that_breaks_does_not_stop_its_lane(runner: Runner, caplog: pytest.LogCaptureFixture) -> None:
    lanes = Lanes(runner, 100)
    lanes.add(job("bad"))
    lanes.add(job("2"))
    runner.open("bad")
    runner.open("2")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert runner.log == ["bad begins", "2 begins", "2 ends"]


async def test_a_cancelled_job_gets_the_reason_once_and_the_next_one_runs(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    lanes.add(job("1"))
    lanes.add(job("2"))
    await eventually(lambda: bool(runner.log))
    assert lanes.cancel(None, "why")
    assert lanes.cancel(None, "again")
    runner.open("2")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert runner.log == ["1 begins", "1 is told why", "2 begins", "2 ends"]


async def test_a_job_that_is_cancelled_before_it_began_still_runs_to_answer(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    lanes.add(job("1"))
    assert lanes.cancel(None, "why")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert runner.log == ["1 begins cancelled"]


async def test_a_response_is_found_by_its_id_as_long_as_it_runs(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    first, second = job("1", "a"), job("2", "a")
    first.response_id, second.response_id = "resp_1", "resp_2"
    lanes.add(first)
    lanes.add(second)
    assert (lanes.running("resp_1"), lanes.running("resp_2"), lanes.running("resp_3")) == (first, None, None)
    runner.open("1")
    await eventually(lambda: lanes.running("resp_2") is second)
    assert lanes.running("resp_1") is None
    runner.open("2")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert lanes.running("resp_2") is None


async def test_nothing_runs_nothing_to_cancel(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    assert not lanes.cancel(None, "why")
    runner.open("1")
    lanes.add(job("1"))
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert not lanes.cancel(None, "why")


@pytest.mark.parametrize("begun", [True, False])
async def test_close_drops_what_waits_and_ends_what_runs(runner: Runner, begun: bool) -> None:
    lanes = Lanes(runner, 100)
    for each in (job("1"), job("2"), job("a", "a")):
        lanes.add(each)
    if begun:
        await eventually(lambda: len(runner.log) == 2)
    await lanes.close("server_shutdown")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    told = ["1 begins", "a begins", "1 is told server_shutdown", "a is told server_shutdown"]
    assert runner.log == (told if begun else [])


async def test_discard_leaves_what_runs_alone(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    lanes.add(job("1"))
    lanes.add(job("2"))
    lanes.discard()
    runner.open("1")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert runner.log == ["1 begins", "1 ends"]


async def test_what_is_outstanding_is_bounded_in_number_and_bytes_and_given_back(runner: Runner) -> None:
    lanes = Lanes(runner, 100)
    lanes.add(job("large", size=1000))  # alone it may be as large as a message can be
    with pytest.raises(Failure, match="100 bytes") as refused:
        lanes.add(job("2"))
    assert (refused.value.code, refused.value.status) == ("rate_limit_exceeded", 429)
    runner.open("large")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    for number in range(64):
        lanes.add(job(f"n{number}"))
    with pytest.raises(Failure, match="at most 64"):
        lanes.add(job("65"))
    await lanes.close()
    lanes.add(job("after"))
    runner.open("after")
    await asyncio.wait_for(lanes.finished(), LIMIT)
    assert runner.log[-2:] == ["after begins", "after ends"]


@pytest.mark.parametrize(
    ("reason", "codes"), [(None, ["client_gone"] * 3), ("server_shutdown", ["server_shutdown"] * 3)]
)
async def test_jobs_that_never_began_have_a_record_too(
    reason: str | None, codes: list[str], runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = UsageSink()
    kept: list[RequestRecord] = []
    monkeypatch.setattr(sink, "answered", kept.append)

    def known(name: str, stream: str | None = None) -> Job:
        return Job({"name": name}, stream, 1, OpenRequest(sink, "responses", name))

    async def run(job: Job) -> None:
        with job.opened as opened:
            await runner(job)
            opened.answered("completed")

    lanes = Lanes(run, 100)
    lanes.add(known("1"))
    lanes.add(known("2"))
    lanes.add(known("3"))
    await eventually(lambda: runner.log == ["1 begins"])
    runner.open("1")
    await eventually(lambda: runner.log[-1] == "2 begins")
    lanes.add(known("a", "a"))
    await lanes.close(reason)
    assert {each.id: each.code for each in kept} == {"1": None, **dict(zip("23a", codes, strict=True))}
    assert len(kept) == 4
