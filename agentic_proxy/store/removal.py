"""Jobs that remove: one response or conversation on request, the oldest by age and size.

What others need stays: a response that is continued keeps its items, a conversation keeps what the windows of its
responses begin with; asked for by a client, both stay as rows that nobody can see until the last one goes that needs
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agentic_proxy.store import conversations
from agentic_proxy.store.jobs import Job, Many, Query, known, one

FIND = "SELECT key FROM responses WHERE id = ?1 AND deleted = 0"
CONTINUED = "SELECT 1 FROM responses WHERE continues = ?1 LIMIT 1"
HIDE = """
    UPDATE responses SET deleted = 1, tools = NULL, tool_choice = NULL, instructions = NULL, tools_at = NULL,
                         output_at = NULL, owner = NULL, data = ?2
    WHERE key = ?1"""
LENGTH = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM items WHERE response = ?1"
DETACH = """
    UPDATE items SET response = NULL
    WHERE response = ?1 AND EXISTS (SELECT 1 FROM conversation_items c WHERE c.item = items.key)"""
FORGET_ITEMS = "DELETE FROM items WHERE response = ?1"
FORGET_EVENTS = "DELETE FROM events WHERE response = ?1"
FORGET = "DELETE FROM responses WHERE key = ?1 RETURNING continues, base, deleted, LENGTH(data)"
PARENT = "SELECT created_at, deleted FROM responses WHERE key = ?1"

BASE_NEEDED = "SELECT 1 FROM responses WHERE base = ?1 LIMIT 1"
BASE_DELETED = "SELECT 1 FROM conversations WHERE key = ?1 AND deleted = 1"
HIDE_CONVERSATION = "UPDATE conversations SET deleted = 1, metadata = ?2 WHERE key = ?1"
ITEMS_OF = """
    SELECT i.key, LENGTH(i.data) FROM conversation_items c JOIN items i ON i.key = c.item WHERE c.conversation = ?1"""
FORGET_PLACES = "DELETE FROM conversation_items WHERE conversation = ?1"
FORGET_CONVERSATION = "DELETE FROM conversations WHERE key = ?1"

OLD_RESPONSES = """
    SELECT created_at, key FROM responses r
    WHERE created_at < ?1 AND (deleted = 1 OR status NOT IN ('queued', 'in_progress'))
    AND NOT EXISTS (SELECT 1 FROM responses c WHERE c.continues = r.key) ORDER BY created_at, key LIMIT ?2"""
OLD_CONVERSATIONS = """
    SELECT used_at, key FROM conversations v
    WHERE used_at < ?1 AND NOT EXISTS (SELECT 1 FROM responses r WHERE r.base = v.key)
    ORDER BY used_at, key LIMIT ?2"""
FORGET_TEXTS = "DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM responses r WHERE r.tools = texts.key)"

SLICE = 100
"""Removed in one transaction at most (and what hangs on it): writers that wait get their turn in between."""


class Removed(NamedTuple):
    """How many responses and conversations went that could be seen, and how many bytes they held."""

    number: int
    size: int


class Old(NamedTuple):
    """Something that nothing newer needs. ``time``: made or last used, Unix seconds."""

    time: int
    is_conversation: bool
    key: int


def delete_response(response_id: str) -> Job[bool]:
    """See Store.delete_response."""
    row = yield from one(FIND, response_id)
    if row is None:
        return False
    yield Query(FORGET_EVENTS, (row[0],))
    if (yield from known(CONTINUED, row[0])):
        yield Query(HIDE, (row[0], b""))
    else:
        yield from _drop_branch(row[0], None)
    return True


def delete_conversation(conversation_id: str) -> Job[bool]:
    """See Store.delete_conversation."""
    row = yield from one(conversations.FIND, conversation_id)
    if row is None:
        return False
    if (yield from known(BASE_NEEDED, row[0])):
        yield Query(HIDE_CONVERSATION, (row[0], b"{}"))
    else:
        yield from _drop_conversation(row[0])
    return True


def candidates(before: int) -> Job[list[Old]]:
    """The oldest that nothing newer needs, made or last used before ``before``, at most SLICE of them."""
    responses = yield Query(OLD_RESPONSES, (before, SLICE))
    others = yield Query(OLD_CONVERSATIONS, (before, SLICE))
    old = [Old(time, False, key) for time, key in responses] + [Old(time, True, key) for time, key in others]
    return sorted(old)[:SLICE]


def remove(old: Sequence[Old], before: int, enough: int | None = None) -> Job[Removed]:
    """Remove candidates, with the responses before them that nothing needs then and that are older than ``before``.

    Stops when ``enough`` bytes went. A candidate that something needs by now stays.
    """
    count = size = 0
    for _, is_conversation, key in old:
        if enough is not None and size >= enough:
            break
        if is_conversation:
            if not (yield from known(BASE_NEEDED, key)):
                size += yield from _drop_conversation(key)
                count += 1
        elif not (yield from known(CONTINUED, key)):
            gone = yield from _drop_branch(key, before)
            count, size = count + gone.number, size + gone.size
    return Removed(count, size)


def forget_texts() -> Job[None]:
    """Remove the shared texts that no response needs any more."""
    yield Query(FORGET_TEXTS)


def _drop_branch(key: int, before: int | None) -> Job[Removed]:
    """The response, then upwards what nothing else needs: deleted rows, and those older than ``before``."""
    count = size = 0
    while True:
        row = yield from one(LENGTH, key)
        size += row[0] if row else 0
        yield Query(DETACH, (key,))
        yield Query(FORGET_ITEMS, (key,))
        yield Query(FORGET_EVENTS, (key,))
        gone = yield from one(FORGET, key)
        if gone is None:
            break
        parent, base, deleted, length = gone
        count, size = count + (not deleted), size + length
        if base is not None:
            yield from _drop_unneeded_base(base)
        if parent is None or (yield from known(CONTINUED, parent)):
            break
        row = yield from one(PARENT, parent)
        if row is None or not (row[1] or (before is not None and row[0] < before)):
            break
        key = parent
    return Removed(count, size)


def _drop_unneeded_base(base: int) -> Job[Any]:
    deleted = yield from known(BASE_DELETED, base)
    if deleted and not (yield from known(BASE_NEEDED, base)):
        yield from _drop_conversation(base)


def _drop_conversation(key: int) -> Job[int]:
    items = yield Query(ITEMS_OF, (key,))
    yield Query(FORGET_PLACES, (key,))
    yield Many(conversations.FORGET_ITEM, [(item,) for item, _ in items])
    yield Query(FORGET_CONVERSATION, (key,))
    return sum(length for _, length in items)
