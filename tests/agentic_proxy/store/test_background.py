"""Background responses on every store: begun, followed by their events, finished once, orphaned with their owner."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.store.base import ConversationRow, FinishedTurn, Page, ResponseRow, Status, Store
from support.stored import NOW, conversation_ids, ids, item, row, turn, window_ids
from translators.failure import Failure


def running(name: str, status: Status = "in_progress", **fields: Any) -> ResponseRow:
    return row(name, status, background=True, **fields)


def finished(name: str, status: Status = "completed", **fields: Any) -> FinishedTurn:
    return FinishedTurn(running(name, status, **fields), (), (item(f"out_{name}"),))


async def begin(store: Store, name: str, owner: str = "me", **fields: Any) -> None:
    await store.begin(running(name, **fields), (item(f"in_{name}"),), owner)


async def test_a_begun_response_can_be_polled_but_not_continued(store: Store) -> None:
    await begin(store, "a")
    assert await store.response("a") == running("a")
    assert await store.window("a") is None
    with pytest.raises(Failure, match="'gone'"):
        await begin(store, "b", continues="gone")
    with pytest.raises(Failure, match="'gone'"):
        await begin(store, "b", conversation="gone")


async def test_finishing_it_keeps_the_input_that_was_kept_at_the_start(store: Store) -> None:
    await begin(store, "a")
    done = finished("a")
    assert await store.commit(done) is True
    assert await store.response("a") == done.row
    assert await window_ids(store, "a") == ["in_a", "out_a"]


async def test_finishing_it_with_another_input_replaces_that(store: Store) -> None:
    await begin(store, "a")
    await store.commit(FinishedTurn(running("a", "completed"), (item("new"),), (item("out"),)))
    assert await window_ids(store, "a") == ["new", "out"]
    assert (await store.stats()).items == 2


@pytest.mark.parametrize("status", ["cancelled", "failed", "completed", "incomplete"])
async def test_whoever_finishes_it_first_has_the_last_word(store: Store, status: Status) -> None:
    await begin(store, "a")
    assert await store.commit(finished("a", status)) is True
    assert await store.commit(finished("a", "completed")) is False
    kept = await store.response("a")
    assert kept is not None and kept.status == status


async def test_one_that_was_deleted_does_not_come_back(store: Store) -> None:
    await begin(store, "a")
    await store.append_events("a", [(0, b"{}")])
    assert await store.delete_response("a") is True
    assert await store.commit(finished("a")) is False
    await store.append_events("a", [(1, b"{}")])
    assert await store.events("a", -1) == []
    assert (await store.stats())[:2] == (0, 0)


async def test_it_keeps_what_it_continues_even_when_that_is_deleted_meanwhile(store: Store) -> None:
    await store.commit(turn("a"))
    await begin(store, "b", continues="a")
    assert await store.delete_response("a") is True
    assert await store.commit(finished("b", continues="a")) is True
    assert await window_ids(store, "b") == ["in_a", "out_a", "in_b", "out_b"]


async def test_in_a_conversation_its_items_are_appended_when_it_finishes(store: Store) -> None:
    await store.create_conversation(ConversationRow("conv", 1, b"{}"), [item("one")])
    await begin(store, "a", conversation="conv")
    assert await conversation_ids(store, "conv") == (["one"], 1)
    done = finished("a", conversation="conv")
    await store.commit(FinishedTurn(done.row, (), done.output, revision=1))
    assert await conversation_ids(store, "conv") == (["one", "in_a", "out_a"], 2)
    assert await window_ids(store, "a") == ["one", "in_a", "out_a"]


async def test_events_come_back_in_order_after_a_number_and_a_repeated_one_changes_nothing(store: Store) -> None:
    await begin(store, "a")
    await store.append_events("a", [(0, b"0"), (2, b"2")])
    await store.append_events("a", [(1, b"1"), (2, b"again"), (3, b"3")])
    await store.append_events("a", [])
    await store.append_events("nobody", [(0, b"0")])
    assert await store.events("a", -1) == [(0, b"0"), (1, b"1"), (2, b"2"), (3, b"3")]
    assert await store.events("a", 1) == [(2, b"2"), (3, b"3")]
    assert await store.events("a", 3) == []
    await store.commit(finished("a"))
    assert len(await store.events("a", -1)) == 4


async def test_orphans_are_the_unfinished_of_owners_that_are_not_alive(store: Store) -> None:
    await store.renew("alive", NOW)
    await store.renew("late", NOW - 1)
    await store.renew("stopped", NOW + 500)
    await store.renew("stopped", 0)
    for owner in ("alive", "late", "stopped", "unknown"):
        await begin(store, f"of_{owner}", owner, status="queued" if owner == "late" else "in_progress")
    await begin(store, "done", "unknown")
    await store.commit(finished("done"))
    await begin(store, "deleted", "unknown")
    await store.delete_response("deleted")
    assert [each.id for each in await store.orphans(NOW)] == ["of_late", "of_stopped", "of_unknown"]
    await store.renew("late", NOW + 100)
    assert [each.id for each in await store.orphans(NOW)] == ["of_stopped", "of_unknown"]


async def test_an_orphan_is_failed_with_its_input_and_then_none_any_more(store: Store) -> None:
    await begin(store, "a", "gone")
    (orphan,) = await store.orphans(1)
    await store.commit(FinishedTurn(running("a", "failed"), (), ()))
    assert orphan == running("a")
    assert await store.orphans(1) == []
    listing = await store.input_items("a", Page())
    assert listing is not None and ids(listing.items) == ["in_a"]


async def test_owners_are_those_whose_lease_has_not_ended(store: Store) -> None:
    await store.renew("alive", NOW + 60)
    await store.renew("late", NOW - 1)
    assert await store.owners(NOW) == ["alive"]
    await store.renew("alive", 0)
    assert await store.owners(NOW) == []
