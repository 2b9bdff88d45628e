"""The one writer of a turn's stream: head first, fillers in between, and never out of turn."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.config.model import Timeouts
from agentic_proxy.engine.delivery import Delivery
from support.engines import RecordingSink, eventually

QUICK = Timeouts(keepalive_first=0.01, keepalive=0.01)
NEVER = Timeouts(keepalive_first=60.0, keepalive=60.0)


def filler() -> bytes:
    return b"filler"


async def test_without_a_sink_nothing_is_written_and_nothing_waits() -> None:
    delivery = Delivery(None)
    delivery.watch(QUICK, filler)
    await delivery.write(b"x")
    await delivery.quiet()
    delivery.stop()
    assert (delivery.streams, delivery.started, delivery.client_gone) == (False, False, False)


async def test_the_head_goes_out_once_with_the_first_bytes() -> None:
    sink = RecordingSink()
    delivery = Delivery(sink)
    delivery.watch(NEVER, filler)
    await delivery.write(b"")
    assert (delivery.streams, delivery.started, sink.starts) == (True, False, 0)
    await delivery.write(b"a")
    await delivery.write(b"b")
    delivery.stop()
    assert (delivery.started, sink.starts, sink.writes) == (True, 1, [b"a", b"b"])


async def test_a_client_that_hears_nothing_gets_the_head_and_fillers_until_the_end() -> None:
    sink = RecordingSink()
    delivery = Delivery(sink)
    delivery.watch(QUICK, filler)
    await eventually(lambda: len(sink.writes) >= 2)
    delivery.stop()
    assert (sink.starts, set(sink.writes)) == (1, {b"filler"})


async def test_an_empty_filler_is_not_written() -> None:
    asked: list[int] = []

    def nothing() -> bytes:
        asked.append(1)
        return b""

    sink = RecordingSink()
    delivery = Delivery(sink)
    delivery.watch(QUICK, nothing)
    await eventually(lambda: len(asked) >= 2)
    delivery.stop()
    assert (sink.starts, sink.writes) == (0, [])


class Slow(RecordingSink):
    """Writes wait for ``go``."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.waiting = 0

    async def write(self, data: bytes) -> None:
        self.waiting += 1
        await self.go.wait()
        await super().write(data)


async def test_bytes_wait_for_a_filler_that_is_on_its_way() -> None:
    sink = Slow()
    delivery = Delivery(sink)
    delivery.watch(Timeouts(keepalive_first=0.01, keepalive=60.0), filler)
    await eventually(lambda: sink.waiting == 1)
    quiet = asyncio.create_task(delivery.quiet())
    writing = asyncio.create_task(delivery.write(b"numbered"))
    await asyncio.sleep(0)
    assert sink.waiting == 1 and not quiet.done()
    sink.go.set()
    await asyncio.gather(writing, quiet)
    delivery.stop()
    assert sink.writes == [b"filler", b"numbered"]


async def test_no_filler_begins_while_bytes_are_written() -> None:
    sink = Slow()
    delivery = Delivery(sink)
    asked: list[int] = []

    def counted() -> bytes:
        asked.append(1)
        return b"filler"

    delivery.watch(NEVER, counted)
    writing = asyncio.create_task(delivery.write(b"numbered"))
    await eventually(lambda: sink.waiting == 1)
    await delivery._fill()
    assert asked == []
    sink.go.set()
    await writing
    delivery.stop()
    assert sink.writes == [b"numbered"]


async def test_a_client_that_is_gone_is_remembered() -> None:
    delivery = Delivery(RecordingSink(fail_after=1))
    await delivery.write(b"a")
    with pytest.raises(ConnectionResetError):
        await delivery.write(b"b")
    assert delivery.client_gone
