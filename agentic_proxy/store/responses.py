"""Jobs about responses: keep a finished turn, read its window, its row and its input."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from agentic_proxy.store import body, conversations
from agentic_proxy.store.base import FinishedTurn, Item, Listing, Page, ResponseRow, Window
from agentic_proxy.store.jobs import Job, Many, Query, Rows, known, one
from translators.failure import Failure

FIND = "SELECT 1 FROM responses WHERE id = ?1 AND deleted = 0"
# Holds the row, so that of two that finish a response at once the second finds it finished.
CLAIM = """
    UPDATE responses SET owner = NULL WHERE id = ?1 AND deleted = 0 AND status IN ('queued', 'in_progress')
    RETURNING key, base, base_length"""
PARENT = "SELECT key, base, base_length FROM responses WHERE id = ?1 AND deleted = 0"
INSERT = """
    INSERT INTO responses (id, created_at, status, background, continues, base, base_length, tools, owner,
                           conversation, model, tool_choice, instructions, tools_at, output_at, data)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) RETURNING key"""
FINISH = """
    UPDATE responses SET status = ?2, base = ?3, base_length = ?4, tools = ?5, model = ?6,
                         tool_choice = ?7, tools_at = ?8, output_at = ?9, data = ?10
    WHERE key = ?1"""
INSERT_ITEM = "INSERT INTO items (id, response, position, output, data) VALUES (?1, ?2, ?3, ?4, ?5)"
FORGET_INPUT = "DELETE FROM items WHERE response = ?1"
KNOWN_TEXT = "SELECT key FROM texts WHERE digest = ?1"
INSERT_TEXT = "INSERT INTO texts (digest, data) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING"
COUNT_INPUT = "SELECT COUNT(*) FROM items WHERE response = ?1"

ROW = """
    SELECT r.key, r.tools_at, r.output_at, r.id, r.created_at, r.status, r.model, r.data, p.id, r.conversation, t.data,
           r.tool_choice, r.background
    FROM responses r LEFT JOIN responses p ON p.key = r.continues LEFT JOIN texts t ON t.key = r.tools"""
OUTPUT = "SELECT data FROM items WHERE response = ?1 AND output = 1 ORDER BY position"
READ = ROW + " WHERE r.id = ?1 AND r.deleted = 0"
HEAD = """
    SELECT r.key, r.base, r.base_length, t.data, r.tool_choice, r.instructions
    FROM responses r LEFT JOIN texts t ON t.key = r.tools
    WHERE r.id = ?1 AND r.deleted = 0 AND r.status IN ('completed', 'incomplete')"""
CHAIN = """
    WITH RECURSIVE chain (key, continues, depth) AS (
        SELECT key, continues, 0 FROM responses WHERE key = ?1
        UNION ALL
        SELECT r.key, r.continues, c.depth + 1 FROM chain c JOIN responses r ON r.key = c.continues)"""
CHAIN_ITEMS = (
    CHAIN
    + """
    SELECT i.data, i.output FROM chain c JOIN items i ON i.response = c.key ORDER BY c.depth DESC, i.position"""
)
CHAIN_INPUT = (
    CHAIN
    + """
    SELECT i.key, i.id FROM chain c JOIN items i ON i.response = c.key
    WHERE (c.depth > 0 AND i.output < 2) OR i.output = 0 ORDER BY c.depth DESC, i.position"""
)
ITEM_DATA = "SELECT id, data FROM items WHERE key = ?1"
NEWEST_ITEM = """
    SELECT i.data FROM items i LEFT JOIN responses r ON r.key = i.response
    WHERE i.id = ?1 AND i.output < 2 AND (r.deleted = 0 OR EXISTS (
        SELECT 1 FROM conversation_items c JOIN conversations v ON v.key = c.conversation
        WHERE c.item = i.key AND c.removed = 0 AND v.deleted = 0))
    ORDER BY i.key DESC LIMIT 1"""

CONTINUABLE = ("completed", "incomplete")


class Before(NamedTuple):
    """What stands before a response's own items: the response it continues, the start of a conversation, or nothing."""

    continues: int | None = None
    base: int | None = None
    base_length: int | None = None


def commit(turn: FinishedTurn) -> Job[bool]:
    """See Store.commit."""
    row = turn.row
    begun = None
    if row.background or (yield from known(FIND, row.id)):
        begun = yield from one(CLAIM, row.id)
        if begun is None:
            return False
    before, place = Before(), None
    if row.continues is not None:
        # A response that was begun holds on to its parent, even to one that was deleted meanwhile.
        before = Before(None, *begun[1:]) if begun else (yield from parent(row.continues))
    elif row.conversation is not None and row.status in CONTINUABLE:
        count = len(turn.output) + (len(turn.input) or (yield from _kept_input(begun)))
        # A place also for a turn without any item: what is taken out later was still there for it.
        base, place = yield from conversations.advance(row.conversation, max(1, count), turn.revision, row.created_at)
        before = Before(None, base, place)
    tools = yield from text_key(row.tools)
    if begun is None:
        key = yield from insert(row, before, tools, None, turn.output)
        first = 0
    else:
        key = begun[0]
        yield Query(
            FINISH,
            (
                key,
                row.status,
                before.base,
                before.base_length,
                tools,
                row.model,
                row.tool_choice,
                *_body(row, turn.output),
            ),
        )
        if turn.input:
            yield Query(FORGET_INPUT, (key,))
        first = 0 if turn.input else (yield from _kept_input(begun))
    yield from insert_items(key, turn.input, turn.output, first)
    if before.base is not None and place is not None:
        yield Query(conversations.APPEND_TURN, (before.base, place, key))
    return True


def _kept_input(begun: Sequence[Any] | None) -> Job[int]:
    if begun is None:
        return 0
    row = yield from one(COUNT_INPUT, begun[0])
    return row[0] if row else 0


def parent(response_id: str) -> Job[Before]:
    """Raises Failure ``previous_response_not_found``."""
    row = yield from one(PARENT, response_id)
    if row is None:
        text = f"Previous response with id {response_id[:80]!r} not found."
        raise Failure("previous_response_not_found", text, param="previous_response_id")
    return Before(*row)


def text_key(data: bytes | None) -> Job[int | None]:
    """The key of a text that many responses share: the tools of an agent are long and the same in every turn."""
    if data is None:
        return None
    digest = hashlib.sha256(data).digest()
    row = yield from one(KNOWN_TEXT, digest)
    if row is None:
        yield Query(INSERT_TEXT, (digest, data))
        row = yield from one(KNOWN_TEXT, digest)
    return row[0] if row else None


def insert(
    row: ResponseRow, before: Before, tools: int | None, owner: str | None, output: Sequence[Item] = ()
) -> Job[int]:
    """The key of a new row."""
    values = (row.id, row.created_at, row.status, int(row.background), before.continues, before.base)
    rest = (before.base_length, tools, owner, row.conversation, row.model, row.tool_choice, row.instructions)
    rows = yield Query(INSERT, values + rest + _body(row, output))
    return int(rows[0][0])


def _body(row: ResponseRow, output: Sequence[Item]) -> tuple[int | None, int | None, bytes]:
    data, tools_at, output_at = body.cut(row.data, row.tools, [item.data for item in output if not item.internal])
    return tools_at, output_at, data


def insert_items(key: int, input_: Sequence[Item], output: Sequence[Item], first: int = 0) -> Job[None]:
    """Input items, then output items, from position ``first`` on."""
    given = [(item, conversations.INTERNAL if item.internal else 0) for item in input_]
    given += [(item, conversations.INTERNAL if item.internal else 1) for item in output]
    rows = [(item.id, key, first + number, kind, item.data) for number, (item, kind) in enumerate(given)]
    if rows:
        yield Many(INSERT_ITEM, rows)


def window(response_id: str) -> Job[Window | None]:
    """See Store.window."""
    head = yield from one(HEAD, response_id)
    if head is None:
        return None
    key, base, length, tools, choice, instructions = head
    rows: list[Sequence[Any]] = []
    if base is not None:
        rows += yield Query(conversations.START, (base, length))
    rows += yield Query(CHAIN_ITEMS, (key,))
    items, internal = conversations.window_of(rows)
    return Window(items, tools, choice, instructions, internal)


def response(response_id: str) -> Job[ResponseRow | None]:
    """See Store.response."""
    row = yield from one(READ, response_id)
    return None if row is None else (yield from made_row(row))


def made_row(row: Sequence[Any]) -> Job[ResponseRow]:
    """The response of a row of ``ROW``, with what was cut out of it."""
    key, tools_at, output_at, *plain = row
    id_, created_at, status, model, data, continues, conversation, tools, choice, background = plain
    output: Rows = ()
    if output_at is not None:
        output = yield Query(OUTPUT, (key,))
    data = body.whole(body.Body(data, tools_at, output_at), tools, (each for (each,) in output))
    return ResponseRow(
        id_, created_at, status, model, data, continues, conversation, tools, choice, background=bool(background)
    )


def input_items(response_id: str, page: Page) -> Job[Listing | None]:
    """See Store.input_items."""
    row = yield from one(PARENT, response_id)
    if row is None:
        return None
    key, base, length = row
    found: list[Sequence[Any]] = []
    if base is not None:
        found += yield Query(conversations.START_IDS, (base, length))
    found += yield Query(CHAIN_INPUT, (key,))
    if page.order == "desc":
        found.reverse()
    start = 0
    if page.after is not None:
        places = [place for place, (_, id_) in enumerate(found) if id_ == page.after]
        if not places:
            raise conversations.unknown_cursor(page.after)
        start = places[-1] + 1
    items = []
    for item_key, _ in found[start : start + page.limit]:
        if (item := (yield from one(ITEM_DATA, item_key))) is not None:
            items.append(Item(*item))
    return Listing(tuple(items), len(found) > start + page.limit)


def item(item_id: str) -> Job[bytes | None]:
    """See Store.item."""
    row = yield from one(NEWEST_ITEM, item_id)
    return None if row is None else row[0]
