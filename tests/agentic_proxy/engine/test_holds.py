"""A thing is free when everybody who used it has gone, and not a moment earlier."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.engine.holds import Holds
from support.engines import eventually
from support.raw_upstream import LIMIT


async def test_what_nobody_uses_is_free_at_once() -> None:
    async with asyncio.timeout(LIMIT):
        await Holds().released()


async def test_it_is_free_when_the_last_user_has_gone_however_it_went() -> None:
    holds, leave, released = Holds(), asyncio.Event(), asyncio.Event()

    async def use() -> None:
        with holds:
            await leave.wait()

    async def wait() -> None:
        await holds.released()
        released.set()

    first, second = asyncio.create_task(use()), asyncio.create_task(use())
    await asyncio.sleep(0)
    waiting = asyncio.create_task(wait())
    with pytest.raises(ZeroDivisionError), holds:
        raise ZeroDivisionError
    first.cancel()
    await asyncio.wait([first])
    await asyncio.sleep(0)
    assert not released.is_set(), "one is still there"
    leave.set()
    await eventually(released.is_set)
    await asyncio.gather(second, waiting)
