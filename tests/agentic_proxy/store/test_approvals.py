"""Calls that a user approved: one claim each, whoever asks, and what came of them for a day."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agentic_proxy.store.approvals import OUTCOMES, RECENT
from agentic_proxy.store.shared import SqlStore
from support.stored import NOW, turn

A, B, C = b"a" * 32, b"b" * 32, b"c" * 32


async def test_the_first_claim_has_the_call_and_others_read_its_outcome(store: SqlStore) -> None:
    assert await store.claim([A, B]) == {}
    await store.settle(A, b"done")
    await store.settle(B, b"also")
    assert await store.claim([B, A, C]) == {A: b"done", B: b"also"}
    await store.settle(C, b"new")
    assert await store.claim([C]) == {C: b"new"}


async def test_nothing_is_claimed_beside_a_call_without_an_outcome(store: SqlStore) -> None:
    await store.claim([B])
    assert await store.claim([A, B, C]) == {B: None}
    await store.settle(B, b"")
    assert await store.claim([A, B, C]) == {B: b""}, "empty: it was not to be kept"
    assert await store.claim([A, C]) == {}


async def test_what_was_claimed_and_not_begun_goes_to_the_next(store: SqlStore) -> None:
    await store.claim([A, B])
    await store.settle(B, b"done")
    await store.give_back([A, B])
    assert await store.claim([A, B]) == {B: b"done"}, "what has an outcome was begun"


async def test_of_several_processes_one_has_the_call(opener: Callable[[], Awaitable[SqlStore]]) -> None:
    stores = [await opener() for _ in range(3)]
    found = await asyncio.gather(*(store.claim([A, B, C]) for store in stores for _ in range(4)))
    assert found.count({}) == 1
    assert all(None in each.values() for each in found if each)


async def test_outcomes_are_forgotten_after_a_day_and_claims_with_the_rest(store: SqlStore) -> None:
    clock = [NOW]
    store._clock = lambda: clock[0]
    await store.claim([A])
    await store.settle(A, b"done")
    clock[0] += OUTCOMES
    await store.prune(0, 1 << 40)
    assert await store.claim([A]) == {A: b"done"}
    clock[0] += 1
    await store.prune(0, 1 << 40)
    assert await store.claim([A]) == {A: b""}
    await store.prune(int(NOW) + 1, 1 << 40)
    assert await store.claim([A]) == {}


async def test_where_room_is_needed_outcomes_go_before_responses(store: SqlStore) -> None:
    clock = [NOW]
    store._clock = lambda: clock[0]
    await store.commit(turn("kept", created_at=NOW))
    small = (await store.stats()).size
    await store.claim([A, B])
    await store.settle(A, b"x" * 1_000_000)
    clock[0] += RECENT + 1
    await store.settle(B, b"done")
    assert (await store.stats()).size > small + 900_000
    assert await store.prune(0, small + 500_000) == 0
    assert await store.response("kept") is not None
    assert await store.claim([A]) == {A: b""}
    assert (await store.stats()).size <= small + 500_000


async def test_what_came_of_a_call_is_in_no_export(store: SqlStore) -> None:
    await store.claim([A])
    await store.settle(A, b"SECRET")
    assert [line async for line in store.export()] == []
