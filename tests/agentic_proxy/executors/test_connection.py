"""When a connection to an upstream may be used again."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.executors.connection import IDLE_SECONDS
from agentic_proxy.executors.direct import DirectTransport
from support.raw_upstream import CLOSE, RawUpstream, answer
from translators.failure import Failure

FINE = (answer(200, b"{}"),)


class Clock:
    """A clock that goes on when the test says so, as a wall clock does over a machine's sleep."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


async def ask(transport: DirectTransport, upstream: RawUpstream) -> None:
    response = await transport.post(f"{upstream.url}/v1/responses", {}, b"{}")
    while await response.read_some():
        pass
    response.close()


@pytest.mark.parametrize(("slept", "connections"), [(IDLE_SECONDS - 1, 1), (IDLE_SECONDS, 2), (-3600, 1)])
async def test_a_connection_from_before_the_machine_slept_is_not_used(slept: float, connections: int) -> None:
    clock = Clock()
    async with RawUpstream(FINE) as upstream:
        transport = DirectTransport(5.0, clock)
        await ask(transport, upstream)
        clock.now += slept
        await ask(transport, upstream)
        assert upstream.connections == connections
        assert transport.idle == 1
        await transport.close()


async def test_when_a_resting_connection_turns_out_dead_none_beside_it_is_tried() -> None:
    async with RawUpstream(FINE, FINE, FINE, (CLOSE,), FINE) as upstream:
        transport = DirectTransport(5.0)
        await asyncio.gather(*(ask(transport, upstream) for _ in range(3)))
        assert (upstream.connections, transport.idle) == (3, 3)
        with pytest.raises(Failure, match="closed the connection before it answered") as caught:
            await ask(transport, upstream)
        assert (caught.value.code, caught.value.retry_same) == ("upstream_unreachable", True)
        assert transport.idle == 0
        await ask(transport, upstream)
        assert upstream.connections == 4
        await transport.close()
