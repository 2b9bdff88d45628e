"""A turn that outlasts the server's drain is told so by the server and still ends properly."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.engine.turn import CANCELLED, SHUTDOWN, TurnRequest
from agentic_proxy.store.base import FinishedTurn
from agentic_proxy.store.shared import SqlStore
from support.breaks import CALL
from support.engines import RecordingSink, body, check_stream, kept, one_upstream
from support.raw_upstream import LAST, OK, STALL, chunk


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


async def test_a_shutdown_during_the_commit_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    committing, go_on = asyncio.Event(), asyncio.Event()
    real = SqlStore.commit

    async def slow(self: SqlStore, turn: FinishedTurn) -> bool:
        committing.set()
        await go_on.wait()
        return await real(self, turn)

    monkeypatch.setattr(SqlStore, "commit", slow)
    async with one_upstream("responses", (OK, chunk(b"".join(CALL["responses"])), LAST)) as (engine, _upstream):
        for messages in ((SHUTDOWN,), (CANCELLED,), (CANCELLED, CANCELLED, SHUTDOWN)):
            committing.clear()
            go_on.clear()
            sink = RecordingSink()
            task = asyncio.create_task(engine.run(TurnRequest("responses", body(), True), sink))
            await committing.wait()
            for message in messages:
                task.cancel(message)
                await asyncio.sleep(0)
            go_on.set()
            response = await task
            check_stream(sink)
            assert sink.events()[-1]["type"] == "response.completed"
            assert (await kept(engine))[response["id"]] == "completed"
