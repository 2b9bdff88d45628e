"""A turn that outlasts the server's drain is told so by the server and still ends properly."""

from __future__ import annotations

import asyncio

from agentic_proxy.engine.turn import SHUTDOWN, TurnRequest
from support.breaks import CALL
from support.engines import RecordingSink, body, check_stream, one_upstream
from support.raw_upstream import OK, STALL, chunk


async def test_a_stream_cut_by_the_shutdown_ends_in_one_failed_with_its_own_code() -> None:
    frames = CALL["responses"]
    async with one_upstream("responses", (OK, chunk(b"".join(frames[:3])), STALL)) as (engine, _upstream):
        sink = RecordingSink()
        task = asyncio.create_task(engine.run(TurnRequest("responses", body(), True), sink))
        await sink.seen(b"response.output_item.added")
        task.cancel(SHUTDOWN)
        response = await task
        check_stream(sink)
        last = sink.events()[-1]
        assert last["type"] == "response.failed"
        assert last["response"]["error"] == {
            "code": "server_error",
            "message": "The proxy was stopped before the response ended.",
        }
        assert response["status"] == "failed"
        assert [record.code for record in engine.usage.records] == ["server_shutdown"]
