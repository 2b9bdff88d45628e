"""The store without a disk: what was saved is there, the oldest goes first, close forgets all."""

from __future__ import annotations

from agentic_proxy.store.base import StoredResponse
from agentic_proxy.store.memory import MAX_RESPONSES, MemoryStore


def stored(name: str, note: str = "") -> StoredResponse:
    return StoredResponse(name, {"id": name, "note": note}, (), None, None)


async def test_a_saved_response_is_found_by_its_id_and_no_other_is() -> None:
    store = MemoryStore()
    await store.save(stored("a"))
    assert await store.get("a") == stored("a")
    assert await store.get("b") is None


async def test_the_same_id_again_replaces_the_response() -> None:
    store = MemoryStore()
    await store.save(stored("a", "first"))
    await store.save(stored("a", "second"))
    assert await store.get("a") == stored("a", "second")


async def test_the_oldest_responses_go_when_the_bound_is_reached() -> None:
    store = MemoryStore(limit=3)
    for name in "abcde":
        await store.save(stored(name))
    assert [name for name in "abcde" if await store.get(name)] == ["c", "d", "e"]
    assert MAX_RESPONSES == 1000


async def test_close_forgets_everything() -> None:
    store = MemoryStore()
    await store.save(stored("a"))
    await store.close()
    assert await store.get("a") is None
