"""Conversations on every store: revisions, pages, removal, and what the windows of responses keep."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentic_proxy.store.base import ConversationRow, FinishedTurn, Page, Store
from support.stored import conversation_ids, ids, item, row, turn, window_ids
from translators.failure import Failure

CONVERSATION = ConversationRow("conv", 1000, b'{"topic":"x"}')


async def begin(store: Store, *items: str) -> None:
    await store.create_conversation(CONVERSATION, [item(name) for name in items])


async def commit(store: Store, name: str, revision: int | None) -> bool:
    return await store.commit(turn(name, conversation="conv", revision=revision))


async def refused(store: Store, name: str, revision: int | None) -> Failure:
    with pytest.raises(Failure) as caught:
        await commit(store, name, revision)
    return caught.value


async def test_a_conversation_comes_back_with_its_items_in_order(store: Store) -> None:
    await begin(store, "one", "two")
    assert await store.conversation("conv") == CONVERSATION
    assert await conversation_ids(store, "conv") == (["one", "two"], 1)
    assert await store.conversation_item("conv", "two") == item("two").data
    assert await store.item("one") == item("one").data


async def test_what_was_never_made_is_none(store: Store) -> None:
    assert await store.conversation("conv") is None
    assert await store.conversation_window("conv") is None
    assert await store.update_conversation("conv", b"{}") is None
    assert await store.conversation_items("conv", Page()) is None
    assert await store.conversation_item("conv", "one") is None
    assert await store.remove_item("conv", "one") is False
    assert await store.add_items("conv", [item()]) is False
    assert await store.delete_conversation("conv") is False


async def test_turns_append_their_items_once_and_raise_the_revision(store: Store) -> None:
    await begin(store)
    await commit(store, "a", 0)
    await commit(store, "b", 1)
    assert await conversation_ids(store, "conv") == (["in_a", "out_a", "in_b", "out_b"], 2)
    assert (await store.stats())[:3] == (2, 4, 1)


@pytest.mark.requirement("R19")
async def test_a_turn_that_read_an_older_revision_loses_and_nothing_of_it_is_kept(store: Store) -> None:
    await begin(store)
    await commit(store, "a", 0)
    failure = await refused(store, "b", 0)
    assert (failure.code, failure.status, failure.param) == ("conversation_locked", 400, "conversation")
    assert await store.response("b") is None
    assert await conversation_ids(store, "conv") == (["in_a", "out_a"], 1)
    assert (await store.stats())[:3] == (1, 2, 1)


async def test_added_and_removed_items_are_changes_too_but_metadata_is_not(store: Store) -> None:
    await begin(store)
    await store.add_items("conv", [item("x"), item("y")])
    assert (await refused(store, "a", 0)).code == "conversation_locked"
    await store.remove_item("conv", "x")
    assert (await refused(store, "a", 1)).code == "conversation_locked"
    await store.update_conversation("conv", b'{"topic":"y"}')
    await commit(store, "a", 2)
    assert await conversation_ids(store, "conv") == (["y", "in_a", "out_a"], 3)
    assert await store.conversation("conv") == replace(CONVERSATION, metadata=b'{"topic":"y"}')


async def test_without_a_revision_a_turn_is_appended_whatever_happened(store: Store) -> None:
    await begin(store, "one")
    await commit(store, "a", None)
    assert await conversation_ids(store, "conv") == (["one", "in_a", "out_a"], 2)


async def test_an_unknown_or_deleted_conversation_is_never_made_by_a_turn(store: Store) -> None:
    failure = await refused(store, "a", 0)
    assert (failure.code, failure.status, failure.param) == ("conversation_not_found", 404, "conversation")
    await begin(store)
    await store.delete_conversation("conv")
    assert (await refused(store, "a", 0)).code == "conversation_not_found"
    assert (await store.stats())[:3] == (0, 0, 0)


async def test_a_failed_turn_is_kept_without_changing_its_conversation(store: Store) -> None:
    await begin(store, "one")
    failed = replace(turn("a", conversation="conv", revision=0), row=row("a", "failed", conversation="conv"))
    await store.commit(failed)
    assert await store.response("a") == failed.row
    assert await conversation_ids(store, "conv") == (["one"], 1)


async def test_eight_writers_of_one_revision_have_one_winner_each_time(store: Store) -> None:
    await begin(store)
    for revision in range(5):
        names = [f"r{revision}w{number}" for number in range(8)]
        done = await asyncio.gather(*(commit(store, name, revision) for name in names), return_exceptions=True)
        assert sorted(str(getattr(each, "code", each)) for each in done) == ["True"] + ["conversation_locked"] * 7
    assert (await store.stats())[:2] == (5, 10)
    window = await conversation_ids(store, "conv")
    assert window is not None and (len(window[0]), window[1]) == (10, 5)


async def test_the_window_of_a_response_ends_with_it_although_the_conversation_goes_on(store: Store) -> None:
    await begin(store, "one")
    await commit(store, "a", 1)
    await commit(store, "b", 2)
    await store.commit(turn("fork", after="a"))
    await store.commit(turn("leaf", after="fork"))
    assert await window_ids(store, "a") == ["one", "in_a", "out_a"]
    assert await window_ids(store, "leaf") == ["one", "in_a", "out_a", "in_fork", "out_fork", "in_leaf", "out_leaf"]
    listing = await store.input_items("leaf", Page(order="asc"))
    assert listing is not None
    assert ids(listing.items) == ["one", "in_a", "out_a", "in_fork", "out_fork", "in_leaf"]


async def test_a_removed_item_is_gone_from_the_conversation_but_not_from_earlier_windows(store: Store) -> None:
    await begin(store, "one")
    await commit(store, "a", 1)
    await store.add_items("conv", [item("late")])
    assert await store.remove_item("conv", "one") is True
    assert await store.remove_item("conv", "late") is True
    assert await store.remove_item("conv", "late") is False
    assert await conversation_ids(store, "conv") == (["in_a", "out_a"], 5)
    assert await store.conversation_item("conv", "one") is None
    assert await store.item("one") is None
    assert await window_ids(store, "a") == ["one", "in_a", "out_a"]
    assert (await store.stats()).items == 3, "what nothing needs is really gone"


async def test_a_response_made_after_a_removal_begins_without_the_item(store: Store) -> None:
    await begin(store, "one", "two")
    await store.commit(FinishedTurn(row("empty", conversation="conv"), (), (), 1))
    await store.remove_item("conv", "one")
    await commit(store, "a", 3)
    await store.remove_item("conv", "two")
    await commit(store, "b", 5)
    await store.commit(turn("c", after="b"))
    assert await window_ids(store, "empty") == ["one", "two"]
    assert await window_ids(store, "a") == ["two", "in_a", "out_a"]
    assert await window_ids(store, "c") == ["in_a", "out_a", "in_b", "out_b", "in_c", "out_c"]
    listing = await store.input_items("c", Page(order="asc"))
    assert listing is not None
    assert ids(listing.items) == ["in_a", "out_a", "in_b", "out_b", "in_c"]


async def test_a_deleted_conversation_leaves_its_responses_with_their_windows(store: Store) -> None:
    await begin(store, "one")
    await commit(store, "a", 1)
    assert await store.delete_conversation("conv") is True
    assert await store.delete_conversation("conv") is False
    assert await store.conversation("conv") is None
    assert await store.conversation_window("conv") is None
    assert await window_ids(store, "a") == ["one", "in_a", "out_a"]
    await store.commit(turn("b", after="a"))
    assert await window_ids(store, "b") == ["one", "in_a", "out_a", "in_b", "out_b"]
    assert await store.delete_response("a") and await store.delete_response("b")
    assert (await store.stats())[:3] == (0, 0, 0)


async def test_a_deleted_response_stays_in_its_conversation(store: Store) -> None:
    await begin(store)
    await commit(store, "a", 0)
    await store.delete_response("a")
    assert await store.response("a") is None
    assert await conversation_ids(store, "conv") == (["in_a", "out_a"], 1)
    assert await store.item("in_a") == item("in_a").data


@pytest.mark.parametrize(
    ("page", "expected", "more"),
    [
        (Page(), ["e", "d", "b", "a"], False),
        (Page(limit=2), ["e", "d"], True),
        (Page(after="d", limit=2), ["b", "a"], False),
        (Page(limit=2, order="asc"), ["a", "b"], True),
        (Page(after="b", limit=9, order="asc"), ["d", "e"], False),
        (Page(after="a"), [], False),
    ],
)
async def test_items_come_in_pages(store: Store, page: Page, expected: list[str], more: bool) -> None:
    await begin(store, *"abcde")
    await store.remove_item("conv", "c")
    listing = await store.conversation_items("conv", page)
    assert listing is not None
    assert (ids(listing.items), listing.more) == (expected, more)


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_with_a_repeated_id_come_to_an_end(store: Store, order: str) -> None:
    await begin(store, "x", "y", "x", "z")
    page, pages = Page(limit=1, order=order), 0  # type: ignore[arg-type]
    while pages < 10:
        listing = await store.conversation_items("conv", page)
        pages += 1
        assert listing is not None
        if not listing.more:
            break
        page = replace(page, after=listing.items[-1].id)
    assert pages <= 4


async def test_a_cursor_outside_the_conversation_is_the_clients_mistake(store: Store) -> None:
    await begin(store, "a")
    with pytest.raises(Failure) as caught:
        await store.conversation_items("conv", Page(after="b"))
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", "after")


async def test_the_newest_of_two_items_with_one_id_is_the_one(store: Store) -> None:
    await store.create_conversation(CONVERSATION, [item("x", "1"), item("x", "2")])
    assert await store.conversation_item("conv", "x") == item("x", "2").data
    assert await store.remove_item("conv", "x") is True
    assert await conversation_ids(store, "conv") == ([], 2)
