"""What every store promises to callers that come at once, go away, or sit in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from agentic_proxy.config.model import Retention
from agentic_proxy.store.base import ConversationRow, FinishedTurn, Page, Status, Store
from agentic_proxy.store.shared import SqlStore
from support.stored import conversation_ids, gone, item, row, turn, window_ids

CONVERSATION = ConversationRow("conv", 1000, b"{}")

OPERATIONS: dict[str, Callable[[Store], Coroutine[Any, Any, object]]] = {
    "window": lambda store: store.window("a"),
    "commit": lambda store: store.commit(turn("new", after="a")),
    "response": lambda store: store.response("a"),
    "delete_response": lambda store: store.delete_response("a"),
    "input_items": lambda store: store.input_items("a", Page()),
    "item": lambda store: store.item("in_a"),
    "begin": lambda store: store.begin(row("bg", "queued", background=True), (item(),), "me"),
    "append_events": lambda store: store.append_events("a", [(0, b"{}")]),
    "events": lambda store: store.events("a", 0),
    "renew": lambda store: store.renew("me", 1),
    "orphans": lambda store: store.orphans(1),
    "create_conversation": lambda store: store.create_conversation(ConversationRow("c2", 1, b"{}"), [item()]),
    "conversation": lambda store: store.conversation("conv"),
    "conversation_window": lambda store: store.conversation_window("conv"),
    "update_conversation": lambda store: store.update_conversation("conv", b"[]"),
    "delete_conversation": lambda store: store.delete_conversation("conv"),
    "add_items": lambda store: store.add_items("conv", [item()]),
    "conversation_items": lambda store: store.conversation_items("conv", Page()),
    "conversation_item": lambda store: store.conversation_item("conv", "one"),
    "remove_item": lambda store: store.remove_item("conv", "one"),
    "stats": lambda store: store.stats(),
    "prune": lambda store: store.prune(1, 1 << 60),
}


async def cancelled_after(steps: int, work: Coroutine[Any, Any, object]) -> bool:
    """Cancel ``work`` when the loop has run ``steps`` times; whether it had to be."""
    task = asyncio.ensure_future(work)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_caller_cancelled_at_any_moment_leaves_no_transaction_open(store: Store, name: str) -> None:
    await store.commit(turn("a"))
    await store.create_conversation(CONVERSATION, [item("one")])
    cancelled = [await cancelled_after(steps, OPERATIONS[name](store)) for steps in (0, 1, 2, 3, 5, 8, 13)]
    assert cancelled[0], "before it began"
    await store.commit(turn("after"))
    assert await window_ids(store, "after") == ["in_after", "out_after"]


async def test_a_turn_whose_caller_goes_away_is_kept_whole_or_not_at_all(store: Store) -> None:
    for steps in range(40):
        name = f"r{steps}"
        await cancelled_after(steps, store.commit(turn(name)))
    await store.commit(turn("last"))
    for steps in range(40):
        assert await window_ids(store, f"r{steps}") in (None, [f"in_r{steps}", f"out_r{steps}"])
    kept = await store.stats()
    assert kept.items == 2 * kept.responses


async def test_many_turns_at_once_are_all_kept(store: Store) -> None:
    names = [f"r{number}" for number in range(100)]
    assert await asyncio.gather(*(store.commit(turn(name)) for name in names)) == [True] * 100
    windows = await asyncio.gather(*(window_ids(store, name) for name in names))
    assert windows == [[f"in_{name}", f"out_{name}"] for name in names]


async def test_a_turn_that_is_refused_spoils_no_other(store: Store) -> None:
    await store.commit(turn("a"))
    names = [f"r{number}" for number in range(20)]
    done = await asyncio.gather(
        *(store.commit(turn(name, after="gone" if number % 3 else "a")) for number, name in enumerate(names)),
        return_exceptions=True,
    )
    assert [each is True for each in done] == [number % 3 == 0 for number in range(20)]
    assert (await store.stats())[:2] == (8, 16)


async def test_ready_says_nothing_while_all_is_well(store: Store) -> None:
    await store.ready()


async def test_closing_twice_is_no_error_and_keeps_what_was_queued(opener: Callable[[], Awaitable[SqlStore]]) -> None:
    store = await opener()
    tasks = [asyncio.ensure_future(store.commit(turn(f"r{number}"))) for number in range(10)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*tasks) == [True] * 10
    await store.close()
    again = await opener()
    assert (await again.stats())[:2] == (10, 20)


@pytest.mark.requirement("R16")
async def test_two_proxies_share_what_they_keep(opener: Callable[[], Awaitable[SqlStore]]) -> None:
    first, second = await opener(), await opener()
    await first.create_conversation(CONVERSATION, [item("one")])
    await first.commit(turn("a", conversation="conv", revision=1))
    await second.commit(turn("b", conversation="conv", revision=2))
    await second.commit(turn("c", after="a"))
    assert await conversation_ids(first, "conv") == (["one", "in_a", "out_a", "in_b", "out_b"], 3)
    assert await window_ids(first, "c") == ["one", "in_a", "out_a", "in_c", "out_c"]


async def test_two_proxies_that_write_at_once_have_one_winner_per_revision(
    opener: Callable[[], Awaitable[SqlStore]],
) -> None:
    stores = [await opener(), await opener()]
    await stores[0].create_conversation(CONVERSATION, [])
    for revision in range(5):
        done = await asyncio.gather(
            *(
                stores[number % 2].commit(turn(f"r{revision}w{number}", conversation="conv", revision=revision))
                for number in range(8)
            ),
            return_exceptions=True,
        )
        assert sorted(str(getattr(each, "code", each)) for each in done) == ["True"] + ["conversation_locked"] * 7
    assert (await stores[1].stats())[:2] == (5, 10)


async def test_of_two_proxies_that_finish_a_response_at_once_one_has_the_last_word(
    opener: Callable[[], Awaitable[SqlStore]],
) -> None:
    stores = [await opener(), await opener()]
    ends: list[Status] = ["cancelled", "completed"]
    for number in range(20):
        name = f"r{number}"
        await stores[0].begin(row(name, "in_progress", background=True), (item(),), "me")
        done = await asyncio.gather(
            *(
                each.commit(FinishedTurn(row(name, end, background=True), (), (item(f"out_{end}"),)))
                for each, end in zip(stores, ends, strict=True)
            )
        )
        assert sorted(done) == [False, True]
        kept = await stores[0].response(name)
        assert kept is not None and kept.status == ends[done.index(True)]
    assert (await stores[0].stats()).items == 40


async def test_a_store_that_keeps_retention_prunes_at_once(store: SqlStore) -> None:
    await store.commit(turn("old", created_at=1))
    store.keep(Retention(days=1))
    await gone(store, "old")
    assert (await store.stats())[:2] == (0, 0)


@pytest.mark.requirement("R16")
async def test_several_proxies_may_open_a_new_store_at_once(opener: Callable[[], Awaitable[SqlStore]]) -> None:
    stores = await asyncio.gather(*(opener() for _ in range(6)))
    await asyncio.gather(*(each.commit(turn(f"r{number}")) for number, each in enumerate(stores)))
    assert (await stores[0].stats())[:2] == (6, 12)
