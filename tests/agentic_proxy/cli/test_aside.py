"""Work in a thread: what comes of it, and an end that does not wait for it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentic_proxy.cli.aside import aside
from support.engines import eventually


def fail() -> int:
    raise KeyError("a mistake")


async def test_what_it_returns_or_raises_is_the_callers() -> None:
    assert await aside(lambda: 7) == 7
    assert await aside(threading.get_ident) != threading.get_ident()
    with pytest.raises(KeyError, match="a mistake"):
        await aside(fail)


async def test_whoever_stops_waiting_leaves_the_others_alone() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    task = asyncio.create_task(aside(work))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    go.set()
    assert await aside(lambda: done.wait(10))


def test_a_loop_that_ends_does_not_wait_for_it() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()
        done.set()

    async def main() -> None:
        task = asyncio.create_task(aside(work))
        await eventually(begun.is_set)
        task.cancel()

    asyncio.run(main())
    assert not done.is_set()
    go.set()
    assert done.wait(10)
