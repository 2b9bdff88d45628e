"""The fault matrix for a WebSocket client: one right ending on a socket that stays good for the next request."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.engine import attempts
from faults.matrix import FAULTS, Fault
from support.deadlines import let_pass
from support.engines import SMALL, eventually
from support.websocket import TERMINALS, connected

CASES = [pytest.param(fault, wire, id=f"{fault.name}-{wire}") for fault in FAULTS for wire in fault.scripts]


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


@pytest.mark.parametrize(("fault", "wire"), CASES)
@pytest.mark.requirement("P1", "R1", "R9")
async def test_a_fault_ends_as_the_matrix_says(fault: Fault, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "CLOSE_GRACE", fault.grace)
    script = fault.scripts[wire]
    async with connected(script, wire=wire, limits=SMALL) as (client, server, upstream):
        upstream.silent = let_pass if fault.gives_up else None
        shown: list[str] = []

        async def seen(marker: bytes) -> None:
            await eventually(lambda: marker.decode() in "".join(shown))

        upstream.seen = seen
        for asked in (fault.attempts, 2 * fault.attempts):
            shown.clear()
            await client.create(input="hi", store=False)
            kinds: list[str] = []
            while not kinds or kinds[-1] not in TERMINALS:
                message = await client.receive()
                shown.append(message.data)
                event = message.json()
                kinds.append(event["type"])
            if fault.record is None:
                assert (kinds[-1], event["response"]["status"]) == ("response.completed", "completed")
            elif fault.streamed is not None:
                assert (kinds[-1], event["response"]["error"]["code"]) == ("response.failed", fault.streamed)
            else:
                assert (kinds, event["status"], event["error"]["code"]) == (["error"], fault.status, fault.code)
            assert "SECRET" not in "".join(shown)
            assert len(upstream.requests) == asked
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.socket.receive(), 0.01)
        assert [record.code for record in server.engine.usage.records] == [fault.record] * asked
