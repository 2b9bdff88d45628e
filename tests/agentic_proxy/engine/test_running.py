"""One background response's events: kept in order, followed from anywhere, never waiting for anybody."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.engine.running import DONE, Running, ending, frame_of, kind_of
from agentic_proxy.engine.turn import SHUTDOWN
from agentic_proxy.store.open import open_plainly
from support.engines import RecordingSink
from support.stored import row
from translators.failure import Failure

CREATED = frame_of("response.created", b'{"type":"response.created","sequence_number":0}')
DELTA = frame_of("response.output_text.delta", b'{"type":"response.output_text.delta","sequence_number":1}')
KEEPALIVE = frame_of("keepalive", b'{"type":"keepalive","sequence_number":2}')
COMPLETED = frame_of("response.completed", b'{"type":"response.completed","sequence_number":3}')
FAILED = frame_of("response.failed", b'{"type":"response.failed","sequence_number":3}')


def running(limit: int = 1 << 20) -> Running:
    made = Running(limit)
    made.response = {"id": "resp_1"}
    return made


def test_frames_are_named_and_ended() -> None:
    assert (kind_of(DELTA), kind_of(b"data: x\n\n")) == (b"response.output_text.delta", b"")
    assert (ending(COMPLETED), ending(FAILED), ending(DELTA)) == (DONE, b"", b"")


async def test_a_follower_gets_what_came_before_and_what_comes_while_it_listens() -> None:
    made, early, late = running(), RecordingSink(), RecordingSink()
    task = asyncio.create_task(made.follow(early, -1))
    await asyncio.sleep(0)
    await made.write(CREATED + DELTA)
    await early.seen(DELTA)
    await made.write(KEEPALIVE)
    await early.seen(KEEPALIVE)
    await made.write(COMPLETED + DONE)
    await made.finish({"id": "resp_1"})
    await task
    await made.follow(late, 0)
    assert early.data == CREATED + DELTA + KEEPALIVE + COMPLETED + DONE
    assert late.data == DELTA + COMPLETED + DONE, "old fillers leave a gap"
    assert (early.starts, late.starts) == (1, 1)


async def test_a_follower_that_leaves_ends_alone() -> None:
    made = running()
    await made.write(CREATED)
    with pytest.raises(ConnectionResetError):
        await made.follow(RecordingSink(fail_after=0), -1)
    gone = asyncio.create_task(made.follow(RecordingSink(), -1))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await made.write(FAILED)
    await made.finish({"id": "resp_1"})
    sink = RecordingSink()
    await made.follow(sink, -1)
    assert sink.data == CREATED + FAILED


async def test_a_follower_is_told_how_a_server_that_stops_ended_the_response() -> None:
    made, sink = running(), RecordingSink()
    await made.write(CREATED)
    task = asyncio.create_task(made.follow(sink, -1))
    await sink.seen(CREATED)
    task.cancel(SHUTDOWN)
    await asyncio.sleep(0)
    await made.write(FAILED)
    await made.finish({"id": "resp_1"})
    await task
    assert sink.data == CREATED + FAILED


async def test_beyond_the_limit_only_deltas_are_lost_and_numbers_stay() -> None:
    made, sink = running(len(CREATED)), RecordingSink()
    await made.write(CREATED + DELTA + DELTA)
    await made.write(COMPLETED)
    await made.finish({"id": "resp_1"})
    await made.follow(sink, 2)
    assert sink.data == COMPLETED + DONE
    await made.follow(whole := RecordingSink(), -1)
    assert whole.data == CREATED + COMPLETED + DONE


async def test_events_are_stored_without_fillers_before_the_end_is_told() -> None:
    store, made = await open_plainly("memory:"), running()
    await store.renew("me", 1 << 40)
    await store.begin(row("resp_1", "in_progress", background=True), (), "me")
    made.keep_in(store)
    for frame in (CREATED, DELTA, KEEPALIVE, COMPLETED):
        await made.write(frame)
    await made.finish({"id": "resp_1"})
    assert made.done
    assert [number for number, _ in await store.events("resp_1", -1)] == [0, 1, 3]
    assert [frame_of("response.completed", data) for _, data in await store.events("resp_1", 2)] == [COMPLETED]
    await store.close()


async def test_a_response_is_stopped_once_and_not_when_it_has_ended() -> None:
    made = running()
    made.stop("too early")
    for messages in (["one"], ["two", "three"]):
        made = running()
        made.task = task = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type,assignment]
        for message in messages:
            made.stop(message)
        await asyncio.wait([task])
        assert (task.cancelled(), task.cancelling()) == (True, 1)
    made = running()
    made.task = task = asyncio.create_task(asyncio.sleep(0))  # type: ignore[assignment]
    await made.finish({"id": "resp_1"})
    made.stop("too late")
    await task


async def test_a_store_that_fails_stops_no_response() -> None:
    class Broken:
        async def append_events(self, response_id: str, events: object) -> None:
            raise Failure("store_failed", "no")

    made, sink = running(), RecordingSink()
    made.keep_in(Broken())  # type: ignore[arg-type]
    await made.write(CREATED)
    await asyncio.sleep(0)
    await made.write(COMPLETED)
    await made.finish({"id": "resp_1"})
    await made.follow(sink, -1)
    assert sink.data == CREATED + COMPLETED + DONE
