"""Keys that all proxies on one store share."""

from __future__ import annotations

from agentic_proxy.store.base import Store


async def test_the_first_key_is_everybodys(store: Store) -> None:
    assert await store.shared_key("local", b"first") == b"first"
    assert await store.shared_key("local", b"second") == b"first"
    assert await store.shared_key("other", b"second") == b"second"


async def test_a_key_is_in_no_export(store: Store) -> None:
    await store.shared_key("local", b"SECRET")
    assert [line async for line in store.export()] == []
