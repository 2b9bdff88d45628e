"""The writer task: batches without waiting, shielded callers, one outcome for each job."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_proxy.store.jobs import Job, Query
from agentic_proxy.store.writer import BATCH, Outcome, Writer


def job(name: str) -> Job[str]:
    yield Query(name)
    return name


class Database:
    """Says which jobs came together, and holds each batch until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.free = asyncio.Event()
        self.error: BaseException | None = None

    async def execute(self, jobs: list[Job[Any]]) -> list[Outcome]:
        names = [next(each).sql for each in jobs]  # type: ignore[union-attr]
        self.batches.append(names)
        await self.free.wait()
        if self.error is not None:
            raise self.error
        return [Outcome(None, ValueError(name)) if name.startswith("bad") else Outcome(name) for name in names]


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.requirement("R11")
async def test_the_first_job_goes_alone_and_what_came_meanwhile_goes_together() -> None:
    database = Database()
    writer = Writer(database.execute)
    first = asyncio.ensure_future(writer.run(job("a")))
    await turns()
    others = [asyncio.ensure_future(writer.run(job(name))) for name in ("b", "bad", "c")]
    await turns()
    assert database.batches == [["a"]]
    database.free.set()
    assert await first == "a"
    done = await asyncio.gather(*others, return_exceptions=True)
    assert [str(each) for each in done] == ["b", "bad", "c"]
    assert isinstance(done[1], ValueError)
    assert database.batches == [["a"], ["b", "bad", "c"]]


async def test_a_batch_is_bounded() -> None:
    database = Database()
    database.free.set()
    writer = Writer(database.execute)
    await asyncio.gather(*(writer.run(job(str(number))) for number in range(BATCH + 1)))
    assert [len(batch) for batch in database.batches] == [BATCH, 1]


async def test_a_cancelled_caller_takes_nothing_with_it() -> None:
    database = Database()
    writer = Writer(database.execute)
    first, second = (asyncio.ensure_future(writer.run(job(name))) for name in ("bad", "b"))
    await turns()
    first.cancel()
    await turns()
    assert first.cancelled()
    database.free.set()
    assert await second == "b"
    assert database.batches == [["bad", "b"]]


async def test_what_fails_as_a_whole_fails_for_everybody_and_the_next_batch_goes_on() -> None:
    database = Database()
    database.error = OSError("disk")
    database.free.set()
    writer = Writer(database.execute)
    done = await asyncio.gather(*(writer.run(job(name)) for name in "ab"), return_exceptions=True)
    assert [type(each) for each in done] == [OSError, OSError]
    database.error = None
    assert await writer.run(job("c")) == "c"


async def test_close_waits_for_what_is_queued() -> None:
    database = Database()
    writer = Writer(database.execute)
    tasks = [asyncio.ensure_future(writer.run(job(name))) for name in "ab"]
    await turns()
    closing = asyncio.ensure_future(writer.close())
    await turns()
    assert not closing.done()
    database.free.set()
    await closing
    assert await asyncio.gather(*tasks) == ["a", "b"]
    await writer.close()


async def test_when_the_loop_ends_nobody_is_left_waiting() -> None:
    database = Database()
    writer = Writer(database.execute)
    taken = asyncio.ensure_future(writer.run(job("a")))
    await turns()
    queued = asyncio.ensure_future(writer.run(job("b")))
    await turns()
    (task,) = [each for each in asyncio.all_tasks() if "_drain" in repr(each)]
    task.cancel()
    done = await asyncio.gather(taken, queued, return_exceptions=True)
    assert [type(each) for each in done] == [asyncio.CancelledError] * 2


@pytest.mark.parametrize("count", [1, 2])
async def test_a_store_at_rest_has_no_task(count: int) -> None:
    database = Database()
    database.free.set()
    writer = Writer(database.execute)
    await asyncio.gather(*(writer.run(job("a")) for _ in range(count)))
    await turns()
    assert [each for each in asyncio.all_tasks() if "_drain" in repr(each)] == []
