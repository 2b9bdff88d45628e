"""Deleting and pruning on every store: what others need stays, everything else goes."""

from __future__ import annotations

import asyncio

from agentic_proxy.store.base import ConversationRow, FinishedTurn, Store
from agentic_proxy.store.retention import NO_LIMIT
from support.stored import conversation_ids, item, row, turn, window_ids


async def counts(store: Store) -> tuple[int, int, int]:
    stats = await store.stats()
    return stats.responses, stats.items, stats.conversations


async def test_a_deleted_response_is_gone_with_its_items(store: Store) -> None:
    await store.commit(turn("a"))
    assert await store.delete_response("a") is True
    assert await store.delete_response("a") is False
    assert await store.response("a") is None
    assert await store.window("a") is None
    assert await store.item("in_a") is None
    assert await counts(store) == (0, 0, 0)


async def test_a_deleted_response_leaves_the_windows_of_those_that_continue_it(store: Store) -> None:
    for name, before in (("a", None), ("b", "a"), ("c", "b"), ("fork", "a")):
        await store.commit(turn(name, after=before))
    assert await store.delete_response("a") and await store.delete_response("b")
    assert await store.response("b") is None and await store.window("b") is None
    assert await store.item("in_b") is None
    assert await window_ids(store, "c") == ["in_a", "out_a", "in_b", "out_b", "in_c", "out_c"]
    kept = await store.response("c")
    assert kept is not None and kept.continues == "b"
    assert await counts(store) == (2, 8, 0)
    await store.delete_response("c")
    assert await counts(store) == (1, 4, 0), "what only the deleted one needed went with it"
    assert await window_ids(store, "fork") == ["in_a", "out_a", "in_fork", "out_fork"]
    await store.delete_response("fork")
    assert await counts(store) == (0, 0, 0)


async def test_nobody_continues_a_deleted_response(store: Store) -> None:
    await store.commit(turn("a"))
    await store.commit(turn("b", after="a"))
    await store.delete_response("a")
    done = await asyncio.gather(store.commit(turn("c", after="a")), return_exceptions=True)
    assert [getattr(each, "code", each) for each in done] == ["previous_response_not_found"]


async def test_continuing_and_deleting_at_once_never_gives_half_a_window(store: Store) -> None:
    for number in range(20):
        parent, child = f"p{number}", f"c{number}"
        await store.commit(turn(parent))
        done = await asyncio.gather(
            store.commit(turn(child, after=parent)), store.delete_response(parent), return_exceptions=True
        )
        assert done[1] is True
        if done[0] is True:
            assert await window_ids(store, child) == [
                f"{kind}_{name}" for name in (parent, child) for kind in ("in", "out")
            ]
        else:
            assert getattr(done[0], "code", done[0]) == "previous_response_not_found"


async def test_old_responses_go_but_not_what_a_newer_one_continues(store: Store) -> None:
    await store.commit(turn("alone", created_at=10, tools=b"[1]"))
    await store.commit(turn("a", created_at=10))
    await store.commit(turn("b", after="a", created_at=20))
    await store.commit(turn("new", after="b", created_at=30))
    await store.commit(turn("old_fork", after="a", created_at=29))
    assert await store.prune(30, NO_LIMIT) == 2
    assert await store.response("alone") is None and await store.response("old_fork") is None
    assert await window_ids(store, "new") == ["in_a", "out_a", "in_b", "out_b", "in_new", "out_new"]
    assert await store.prune(30, NO_LIMIT) == 0
    assert await store.prune(31, NO_LIMIT) == 3
    assert await counts(store) == (0, 0, 0)
    assert (await store.prune(31, NO_LIMIT), (await store.stats()).responses) == (0, 0)


async def test_more_than_one_slice_goes_at_once(store: Store) -> None:
    for number in range(250):
        await store.commit(FinishedTurn(row(f"r{number}", created_at=number), (), ()))
    assert await store.prune(240, NO_LIMIT) == 240
    assert await counts(store) == (10, 0, 0)


async def test_a_running_response_is_never_pruned(store: Store) -> None:
    await store.begin(row("a", "in_progress", background=True, created_at=1), (item(),), "me")
    assert await store.prune(1000, 0) == 0
    assert await counts(store) == (1, 1, 0)


async def test_a_conversation_is_as_old_as_its_last_turn(store: Store) -> None:
    await store.create_conversation(ConversationRow("used", 10, b"{}"), [item("one")])
    await store.create_conversation(ConversationRow("unused", 10, b"{}"), [item("two")])
    await store.commit(turn("a", conversation="used", created_at=20))
    await store.commit(turn("b", conversation="used", created_at=40))
    assert await store.prune(30, NO_LIMIT) == 2
    assert await store.conversation("unused") is None and await store.response("a") is None
    assert await conversation_ids(store, "used") == (["one", "in_a", "out_a", "in_b", "out_b"], 3)
    assert await window_ids(store, "b") == ["one", "in_a", "out_a", "in_b", "out_b"]
    assert await store.prune(41, NO_LIMIT) == 2
    assert await counts(store) == (0, 0, 0)


async def test_the_oldest_go_until_the_size_is_kept(store: Store) -> None:
    for number in range(40):
        data = item(f"i{number}")._replace(data=b'"' + b"x" * 50_000 + b'"')
        await store.commit(FinishedTurn(row(f"r{number}", created_at=number, tools=b"[%d]" % number), (data,), ()))
    full = (await store.stats()).size
    assert full > 2_000_000
    limit = full - 1_000_000
    gone = await store.prune(0, limit)
    assert 18 <= gone <= 24
    assert (await store.stats()).size <= limit
    assert [await store.response(f"r{number}") is None for number in (0, gone - 1, gone, 39)] == [
        True,
        True,
        False,
        False,
    ]
    assert await store.prune(0, limit) == 0


async def test_everything_goes_when_nothing_may_stay(store: Store) -> None:
    await store.create_conversation(ConversationRow("conv", 10, b"{}"), [item("one")])
    await store.commit(turn("a", conversation="conv"))
    await store.commit(turn("b", after="a", tools=b"[]"))
    await store.delete_response("a")
    await store.delete_conversation("conv")
    await store.prune(0, 0)
    assert await counts(store) == (0, 0, 0)
