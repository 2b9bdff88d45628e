"""Turns, items and rows for tests of the store."""

from __future__ import annotations

import itertools
from typing import Any

import orjson

from agentic_proxy.store.base import FinishedTurn, Item, ResponseRow, Status, Store

NOW = 1_700_000_000
"""What the clock of a tested store says."""

_numbers = itertools.count(1)


def item(id_: str | None = None, text: str = "") -> Item:
    """An item; ``text`` makes two of the same id differ."""
    id_ = id_ or f"msg_{next(_numbers)}"
    return Item(id_, orjson.dumps({"id": id_, "type": "message", "text": text}))


def row(id_: str | None = None, status: Status = "completed", **fields: Any) -> ResponseRow:
    """A response made at second 1000, unless said otherwise."""
    id_ = id_ or f"resp_{next(_numbers)}"
    given = {"created_at": 1000, "model": "m", "data": orjson.dumps({"id": id_, "status": status})} | fields
    return ResponseRow(id_, status=status, **given)


def turn(
    id_: str | None = None, *, after: str | None = None, revision: int | None = None, **fields: Any
) -> FinishedTurn:
    """One input item and one output item with ids of their own, continuing ``after``."""
    made = row(id_, continues=after, **fields)
    return FinishedTurn(made, (item(f"in_{made.id}"),), (item(f"out_{made.id}"),), revision)


def ids(items: tuple[bytes, ...] | tuple[Item, ...]) -> list[str]:
    """The ids of items or of their bytes."""
    return [each.id if isinstance(each, Item) else orjson.loads(each)["id"] for each in items]


async def window_ids(store: Store, response_id: str) -> list[str] | None:
    """The ids of a window, None without one."""
    window = await store.window(response_id)
    return None if window is None else ids(window.items)


async def gone(store: Store, response_id: str) -> None:
    """Wait until somebody has removed the response."""
    for _ in range(10_000):
        if await store.response(response_id) is None:
            return
    raise AssertionError(f"{response_id} is still there")


async def conversation_ids(store: Store, conversation_id: str) -> tuple[list[str], int] | None:
    """The ids of a conversation's items and its revision, None without one."""
    window = await store.conversation_window(conversation_id)
    return None if window is None else (ids(window.items), window.revision)
