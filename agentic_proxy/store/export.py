"""Jobs that read everything: counts, and JSON lines slice by slice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from agentic_proxy.store import responses
from agentic_proxy.store.base import ResponseRow, Stats
from agentic_proxy.store.jobs import Job, Query, one

COUNTS = """
    SELECT (SELECT COUNT(*) FROM responses WHERE deleted = 0), (SELECT COUNT(*) FROM items),
           (SELECT COUNT(*) FROM conversations WHERE deleted = 0)"""
CONVERSATIONS = """
    SELECT key, id, created_at, metadata FROM conversations WHERE deleted = 0 AND key > ?1 ORDER BY key LIMIT ?2"""
CONVERSATION_ITEMS = """
    SELECT i.data FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE c.conversation = ?1 AND c.removed = 0 ORDER BY c.place"""
KEYS = "SELECT key FROM responses WHERE deleted = 0 AND key > ?1 ORDER BY key LIMIT ?2"
READ = responses.ROW + " WHERE r.key = ?1"
INPUT = "SELECT data FROM items WHERE response = ?1 AND output = 0 ORDER BY position"

SLICE = 50


def stats(size: str) -> Job[Stats]:
    """See Store.stats; ``size`` is the statement that measures the bytes kept."""
    counts = yield from one(COUNTS)
    measured = yield from one(size)
    assert counts is not None and measured is not None
    return Stats(counts[0], counts[1], counts[2], int(measured[0]))


def conversation_lines(after: int) -> Job[tuple[list[bytes], int | None]]:
    """The lines of the next conversations after a key, and the key to go on after; None at the end."""
    rows = yield Query(CONVERSATIONS, (after, SLICE))
    lines = []
    for key, id_, created_at, metadata in rows:
        items = yield Query(CONVERSATION_ITEMS, (key,))
        fields = {"object": "conversation", "id": id_, "created_at": created_at}
        lines.append(_line(fields, metadata=metadata, items=_array(items)))
    return lines, rows[-1][0] if len(rows) == SLICE else None


def response_lines(after: int) -> Job[tuple[list[bytes], int | None]]:
    """The lines of the next responses after a key, and the key to go on after; None at the end.

    Each holds its own input only: what it continues, or the conversation, is in other lines.
    """
    keys = yield Query(KEYS, (after, SLICE))
    lines = []
    for (key,) in keys:
        row = yield from one(READ, key)
        items = yield Query(INPUT, (key,))
        if row is not None:
            lines.append(_response_line((yield from responses.made_row(row)), items))
    return lines, keys[-1][0] if len(keys) == SLICE else None


def _response_line(row: ResponseRow, items: Iterable[Any]) -> bytes:
    fields = {
        "object": "response",
        "id": row.id,
        "created_at": row.created_at,
        "status": row.status,
        "model": row.model,
        "previous_response_id": row.continues,
        "conversation": row.conversation,
        "background": row.background,
    }
    return _line(fields, tools=row.tools, tool_choice=row.tool_choice, input=_array(items), response=row.data)


def _array(rows: Iterable[Any]) -> bytes:
    return b"[" + b",".join(data for (data,) in rows) + b"]"


def _line(fields: dict[str, Any], **raw: bytes | None) -> bytes:
    """One line: ``fields``, then the JSON bytes as they were kept."""
    parts = [b'"%s":%s' % (name.encode(), b"null" if data is None else data) for name, data in raw.items()]
    line = orjson.dumps(fields)[:-1] + b"," + b",".join(parts) + b"}"
    # In JSON they can only stand between values.
    return line.replace(b"\n", b" ").replace(b"\r", b" ")
