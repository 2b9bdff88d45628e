"""Jobs about conversations: ordered items with a revision that a turn must have read to append to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentic_proxy.store.base import ConversationRow, ConversationWindow, Item, Listing, Page
from agentic_proxy.store.jobs import Job, Query, known, one
from translators.failure import Failure

FIND = "SELECT key FROM conversations WHERE id = ?1 AND deleted = 0"
ADVANCE = """
    UPDATE conversations
    SET revision = revision + 1, length = length + ?2, used_at = CASE WHEN used_at < ?3 THEN ?3 ELSE used_at END
    WHERE id = ?1 AND deleted = 0 RETURNING key, length - ?2, revision - 1"""
TOUCH = "UPDATE conversations SET revision = revision + 1 WHERE key = ?1"
APPEND_TURN = """
    INSERT INTO conversation_items (conversation, place, item)
    SELECT ?1, ?2 + i.position, i.key FROM items i WHERE i.response = ?3"""
APPEND = "INSERT INTO conversation_items (conversation, place, item) VALUES (?1, ?2, ?3)"
NEW_ITEM = "INSERT INTO items (id, position, output, data) VALUES (?1, 0, 0, ?2) RETURNING key"
CREATE = """
    INSERT INTO conversations (id, created_at, used_at, metadata, length, revision) VALUES (?1, ?2, ?2, ?3, 0, 0)"""
READ = "SELECT id, created_at, metadata FROM conversations WHERE id = ?1 AND deleted = 0"
READ_REVISION = "SELECT key, revision FROM conversations WHERE id = ?1 AND deleted = 0"
UPDATE = """
    UPDATE conversations SET metadata = ?2 WHERE id = ?1 AND deleted = 0 RETURNING id, created_at, metadata"""
WINDOW = """
    SELECT i.data, i.output FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE c.conversation = ?1 AND c.removed = 0 ORDER BY c.place"""
START = """
    SELECT i.data, i.output FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE c.conversation = ?1 AND c.place < ?2 AND (c.removed_at IS NULL OR c.removed_at > ?2) ORDER BY c.place"""
START_IDS = """
    SELECT i.key, i.id FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE i.output < 2 AND c.conversation = ?1 AND c.place < ?2 AND (c.removed_at IS NULL OR c.removed_at > ?2)
    ORDER BY c.place"""
OLDEST_FIRST = """
    SELECT i.id, i.data FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE i.output < 2 AND c.conversation = ?1 AND c.removed = 0 AND c.place > ?2 ORDER BY c.place LIMIT ?3"""
NEWEST_FIRST = """
    SELECT i.id, i.data FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE i.output < 2 AND c.conversation = ?1 AND c.removed = 0 AND c.place < ?2 ORDER BY c.place DESC LIMIT ?3"""
PLACES = """
    SELECT c.place, i.key, i.data FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE i.output < 2 AND c.conversation = ?1 AND c.removed = 0 AND i.id = ?2 ORDER BY c.place"""
# Internal items up to the next one that is shown.
BEHIND = """
    SELECT c.place, i.key, i.data FROM conversation_items c JOIN items i ON i.key = c.item
    WHERE i.output = 2 AND c.conversation = ?1 AND c.removed = 0 AND c.place > ?2 AND c.place < COALESCE((
        SELECT MIN(n.place) FROM conversation_items n JOIN items s ON s.key = n.item
        WHERE s.output < 2 AND n.conversation = ?1 AND n.place > ?2), ?3)
    ORDER BY c.place"""
NEEDED = "SELECT 1 FROM responses WHERE base = ?1 AND base_length > ?2 LIMIT 1"
HIDE = """
    UPDATE conversation_items SET removed = 1, removed_at = (SELECT length FROM conversations WHERE key = ?1)
    WHERE conversation = ?1 AND place = ?2"""
DETACH = "DELETE FROM conversation_items WHERE conversation = ?1 AND place = ?2"
FORGET_ITEM = "DELETE FROM items WHERE key = ?1 AND response IS NULL"

END = 1 << 62
INTERNAL = 2
"""``output`` of an item that is never shown; 0 is an input item, 1 an output item."""


def not_found(conversation_id: str) -> Failure:
    """The Failure for an unknown conversation."""
    text = f"Conversation with id {conversation_id[:80]!r} not found."
    return Failure("conversation_not_found", text, param="conversation")


def advance(conversation_id: str, count: int, revision: int | None, now: int) -> Job[tuple[int, int]]:
    """Make room for ``count`` items: the conversation's key and the place of the first one.

    Raises Failure ``conversation_not_found``, or ``conversation_locked`` when it is no longer at ``revision``.
    """
    row = yield from one(ADVANCE, conversation_id, count, now)
    if row is None:
        raise not_found(conversation_id)
    key, place, found = row
    if revision is not None and found != revision:
        text = "The conversation changed while the response was being generated; retry the request."
        raise Failure("conversation_locked", text, param="conversation")
    return key, place


def create(row: ConversationRow, items: Sequence[Item]) -> Job[None]:
    """See Store.create_conversation."""
    yield Query(CREATE, (row.id, row.created_at, row.metadata))
    if items:
        yield from add_items(row.id, items, row.created_at)


def add_items(conversation_id: str, items: Sequence[Item], now: int) -> Job[bool]:
    """See Store.add_items."""
    row = yield from one(ADVANCE, conversation_id, len(items), now)
    if row is None:
        return False
    key, place, _ = row
    for number, item in enumerate(items):
        rows = yield Query(NEW_ITEM, (item.id, item.data))
        yield Query(APPEND, (key, place + number, rows[0][0]))
    return True


def read(conversation_id: str) -> Job[ConversationRow | None]:
    """See Store.conversation."""
    row = yield from one(READ, conversation_id)
    return None if row is None else ConversationRow(*row)


def update(conversation_id: str, metadata: bytes) -> Job[ConversationRow | None]:
    """See Store.update_conversation."""
    row = yield from one(UPDATE, conversation_id, metadata)
    return None if row is None else ConversationRow(*row)


def window(conversation_id: str) -> Job[ConversationWindow | None]:
    """See Store.conversation_window."""
    row = yield from one(READ_REVISION, conversation_id)
    if row is None:
        return None
    rows = yield Query(WINDOW, (row[0],))
    items, internal = window_of(rows)
    return ConversationWindow(items, row[1], internal)


def window_of(rows: Sequence[Sequence[Any]]) -> tuple[tuple[bytes, ...], frozenset[int]]:
    """Rows of data and ``output`` as the items of a window and the places of the internal ones."""
    internal = frozenset(place for place, (_, output) in enumerate(rows) if output == INTERNAL)
    return tuple(data for data, _ in rows), internal


def listing(conversation_id: str, page: Page) -> Job[Listing | None]:
    """See Store.conversation_items."""
    row = yield from one(FIND, conversation_id)
    if row is None:
        return None
    ascending = page.order == "asc"
    start = -1 if ascending else END
    if page.after is not None:
        places = yield Query(PLACES, (row[0], page.after))
        if not places:
            raise unknown_cursor(page.after)
        # A public id may stand there twice: the one further on, so that a client that follows the pages gets to an end.
        start = places[-1 if ascending else 0][0]
    rows = yield Query(OLDEST_FIRST if ascending else NEWEST_FIRST, (row[0], start, page.limit + 1))
    return Listing(tuple(Item(*found) for found in rows[: page.limit]), len(rows) > page.limit)


def unknown_cursor(after: str) -> Failure:
    """The Failure for a client's cursor that points nowhere."""
    text = f"There is no item {after[:80]!r} in this list to go on after."
    return Failure("invalid_request_error", text, param="after")


def item(conversation_id: str, item_id: str) -> Job[bytes | None]:
    """See Store.conversation_item."""
    row = yield from one(FIND, conversation_id)
    if row is None:
        return None
    places = yield Query(PLACES, (row[0], item_id))
    return places[-1][2] if places else None


def remove_item(conversation_id: str, item_id: str) -> Job[bool]:
    """See Store.remove_item. What the window of a response made before still needs is only hidden."""
    row = yield from one(FIND, conversation_id)
    if row is None:
        return False
    places = [*(yield Query(PLACES, (row[0], item_id)))]
    for place, _, _ in tuple(places):
        places += yield Query(BEHIND, (row[0], place, END))
    for place, key, _ in places:
        if (yield from known(NEEDED, row[0], place)):
            yield Query(HIDE, (row[0], place))
        else:
            yield Query(DETACH, (row[0], place))
            yield Query(FORGET_ITEM, (key,))
    if places:
        yield Query(TOUCH, (row[0],))
    return bool(places)
