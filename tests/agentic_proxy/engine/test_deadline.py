"""A wait ends when nothing was heard for too long, and only then."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.engine.deadline import Deadline


async def test_a_wait_without_a_touch_ends_in_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with Deadline(0.01):
            await asyncio.Event().wait()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_touches_keep_it_alive_and_a_shorter_limit_counts_at_once() -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    with pytest.raises(TimeoutError):
        async with Deadline(60.0) as deadline:
            deadline.touch(0.02)
            await asyncio.Event().wait()
    assert loop.time() - started < 5


async def test_a_touch_moves_the_end_without_a_new_timer() -> None:
    async with Deadline(0.03) as deadline:
        timer = deadline._timer
        for _ in range(3):
            deadline.touch(60.0)
        assert deadline._timer is timer
        done = asyncio.Event()
        asyncio.get_running_loop().call_later(0.06, done.set)
        await done.wait()


async def test_a_paused_deadline_waits_for_the_next_touch() -> None:
    with pytest.raises(TimeoutError):
        async with Deadline(0.01) as deadline:
            deadline.pause()
            done = asyncio.Event()
            asyncio.get_running_loop().call_later(0.04, done.set)
            await done.wait()
            deadline.touch(0.01)
            await asyncio.Event().wait()


async def test_a_cancellation_from_outside_stays_one() -> None:
    async def wait() -> None:
        async with Deadline(60.0):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_was_cancelled_elsewhere_is_an_error_and_not_the_end_of_who_waits_for_it() -> None:
    gone = asyncio.get_running_loop().create_future()
    gone.cancel()
    with pytest.raises(RuntimeError, match="nobody had asked for that"):
        async with Deadline(60.0):
            await gone


async def test_an_error_inside_passes_and_leaves_no_timer() -> None:
    with pytest.raises(KeyError):
        async with Deadline(0.01) as deadline:
            raise KeyError
    assert deadline._timer is not None
    assert deadline._timer.cancelled()
