"""Counting and exporting on every store."""

from __future__ import annotations

import orjson

from agentic_proxy.store.base import ConversationRow, FinishedTurn, Store
from support.stored import item, row, turn


async def test_an_empty_store_exports_nothing(store: Store) -> None:
    assert [line async for line in store.export()] == []
    stats = await store.stats()
    assert stats[:3] == (0, 0, 0)


async def test_everything_visible_is_a_line_of_its_own(store: Store) -> None:
    await store.create_conversation(ConversationRow("conv", 10, b'{"k":"v"}'), [item("one"), item("gone")])
    await store.remove_item("conv", "gone")
    await store.commit(turn("a", conversation="conv"))
    await store.commit(
        FinishedTurn(
            row("b", continues="a", tools=b"[1]", tool_choice=b'"auto"', data=b'{\n "id":"b"}'),
            (item("in"),),
            (item("out"),),
        )
    )
    await store.commit(turn("c", after="b"))
    await store.delete_response("c")
    lines = [line async for line in store.export()]
    assert not any(b"\n" in line for line in lines)
    assert [orjson.loads(line) for line in lines] == [
        {
            "object": "conversation",
            "id": "conv",
            "created_at": 10,
            "metadata": {"k": "v"},
            "items": [orjson.loads(item(name).data) for name in ("one", "in_a", "out_a")],
        },
        {
            "object": "response",
            "id": "a",
            "created_at": 1000,
            "status": "completed",
            "model": "m",
            "previous_response_id": None,
            "conversation": "conv",
            "background": False,
            "tools": None,
            "tool_choice": None,
            "input": [orjson.loads(item("in_a").data)],
            "response": {"id": "a", "status": "completed"},
        },
        {
            "object": "response",
            "id": "b",
            "created_at": 1000,
            "status": "completed",
            "model": "m",
            "previous_response_id": "a",
            "conversation": None,
            "background": False,
            "tools": [1],
            "tool_choice": "auto",
            "input": [orjson.loads(item("in").data)],
            "response": {"id": "b"},
        },
    ]


async def test_an_export_of_more_than_one_slice_is_complete(store: Store) -> None:
    for number in range(120):
        await store.commit(FinishedTurn(row(f"r{number}"), (), ()))
        await store.create_conversation(ConversationRow(f"c{number}", 10, b"{}"), [])
    found = [orjson.loads(line)["id"] async for line in store.export()]
    assert found == [f"c{number}" for number in range(120)] + [f"r{number}" for number in range(120)]
