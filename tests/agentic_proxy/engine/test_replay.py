"""The events of a background response that another process makes, made, or left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import orjson
import pytest

from agentic_proxy.engine import replay as module
from agentic_proxy.engine.replay import replay
from agentic_proxy.store.base import FinishedTurn, Status
from agentic_proxy.store.open import open_plainly
from agentic_proxy.store.shared import SqlStore
from support.engines import RecordingSink
from support.stored import row
from translators.failure import Failure

ROW = row("resp_1", "in_progress", background=True)
KEPT = [
    (number, orjson.dumps({"type": kind, "sequence_number": number}))
    for number, kind in enumerate(["response.created", "response.in_progress", "response.completed"])
]


@pytest.fixture
async def store(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqlStore]:
    monkeypatch.setattr(module, "POLL", 0.0)
    made = await open_plainly("memory:")
    await made.renew("other", 1 << 40)
    await made.begin(ROW, (), "other")
    yield made
    await made.close()


def final(status: Status) -> FinishedTurn:
    data = orjson.dumps({"id": "resp_1", "status": status, "output": [1], "error": None})
    return FinishedTurn(replace(ROW, status=status, data=data), (), ())


async def test_a_response_that_another_process_makes_is_followed_to_its_end(store: SqlStore) -> None:
    sink = RecordingSink()
    await store.append_events("resp_1", KEPT[:1])
    task = asyncio.create_task(replay(store, ROW, -1, sink, 60.0))
    await sink.seen(b"response.created")
    await store.append_events("resp_1", KEPT[1:2])
    await sink.seen(b"response.in_progress")
    await store.commit(final("completed"))
    await store.append_events("resp_1", KEPT[2:])
    await task
    assert sink.kinds() == ["response.created", "response.in_progress", "response.completed"]
    assert sink.data.endswith(b"data: [DONE]\n\n")


async def test_only_events_above_the_cursor_come(store: SqlStore) -> None:
    await store.append_events("resp_1", KEPT)
    await store.commit(final("completed"))
    await replay(store, ROW, 1, sink := RecordingSink(), 60.0)
    assert [event["sequence_number"] for event in sink.events()] == [2]


async def test_many_events_come_in_several_writes(store: SqlStore) -> None:
    many = [(number, orjson.dumps({"type": "keepalive", "sequence_number": number})) for number in range(3, 3000)]
    end = (3000, orjson.dumps({"type": "response.completed", "sequence_number": 3000}))
    await store.append_events("resp_1", [*KEPT[:2], *many, end])
    await store.commit(final("completed"))
    await replay(store, ROW, -1, sink := RecordingSink(), 60.0)
    assert [event["sequence_number"] for event in sink.events()] == [0, 1, *range(3, 3001)]
    assert max(data.count(b"data: ") for data in sink.writes) <= module.AT_ONCE
    assert sink.data.count(b"data: [DONE]\n\n") == 1


@pytest.mark.parametrize("after", [2, 3, 9999])
async def test_behind_the_end_there_is_nothing(store: SqlStore, after: int) -> None:
    await store.append_events("resp_1", KEPT)
    await store.commit(final("completed"))
    await replay(store, ROW, after, sink := RecordingSink(), 60.0)
    assert (sink.starts, sink.data) == (1, b"")


async def test_events_that_are_kept_only_after_the_response_are_not_passed_over(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.append_events("resp_1", KEPT[:1])
    await store.commit(final("completed"))
    read = store.events

    async def slowly(response_id: str, after: int) -> list[tuple[int, bytes]]:
        found = await read(response_id, after)
        if after == 0:
            await store.append_events("resp_1", KEPT[1:])
        return found

    monkeypatch.setattr(store, "events", slowly)
    await replay(store, ROW, -1, sink := RecordingSink(), 60.0)
    assert [event["sequence_number"] for event in sink.events()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("status", "kind"),
    [("completed", "response.completed"), ("incomplete", "response.incomplete"), ("failed", "response.failed"),
     ("cancelled", "response.failed")],
)  # fmt: skip
async def test_an_end_that_was_not_kept_is_made_from_the_response(store: SqlStore, status: Status, kind: str) -> None:
    await store.append_events("resp_1", KEPT[:2])
    await store.commit(final(status))
    await replay(store, ROW, -1, sink := RecordingSink(), 60.0)
    assert sink.kinds() == ["response.created", "response.in_progress", kind]
    assert sink.events()[-1]["sequence_number"] == 2
    assert sink.events()[-1]["response"]["status"] == status
    assert sink.data.endswith(b"data: [DONE]\n\n") is (kind != "response.failed")


async def test_without_any_kept_event_there_is_still_a_beginning_and_an_end(store: SqlStore) -> None:
    await store.commit(final("completed"))
    await replay(store, ROW, -1, sink := RecordingSink(), 60.0)
    assert [(event["type"], event["sequence_number"]) for event in sink.events()] == [
        ("response.created", 0), ("response.completed", 1),
    ]  # fmt: skip
    assert sink.events()[0]["response"]["output"] == []


async def test_a_response_that_is_deleted_meanwhile_ends(store: SqlStore) -> None:
    await store.append_events("resp_1", KEPT[:1])
    task = asyncio.create_task(replay(store, replace(ROW, data=b'{"status":"cancelled"}'), -1, s := RecordingSink(), 9))
    await s.seen(b"response.created")
    await store.delete_response("resp_1")
    await task
    assert s.kinds() == ["response.created", "response.failed"]


@pytest.mark.parametrize("after", [-1, 9])
async def test_a_store_that_fails_before_anything_was_sent_has_an_answer_of_its_own(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    async def broken(response_id: str, after: int) -> list[tuple[int, bytes]]:
        raise Failure("store_failed", "no")

    monkeypatch.setattr(store, "events", broken)
    with pytest.raises(Failure, match="no"):
        await replay(store, ROW, after, sink := RecordingSink(), 60.0)
    assert not sink.started


async def test_silence_is_filled(store: SqlStore) -> None:
    await store.append_events("resp_1", KEPT[:2])
    task = asyncio.create_task(replay(store, ROW, -1, sink := RecordingSink(), 0.0))
    await sink.seen(b'{"type":"keepalive","sequence_number":1}')
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_client_that_left_ends_the_replay(store: SqlStore) -> None:
    await store.append_events("resp_1", KEPT[:2])
    with pytest.raises(ConnectionResetError):
        await replay(store, ROW, -1, RecordingSink(fail_after=0), 60.0)


