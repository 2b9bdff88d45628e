"""Jobs about background responses: rows of turns that run, their events, and who is alive to run them."""

from __future__ import annotations

from collections.abc import Sequence

from agentic_proxy.store import conversations, responses
from agentic_proxy.store.base import Item, ResponseRow
from agentic_proxy.store.jobs import Job, Many, Query, known, one

FIND = "SELECT key FROM responses WHERE id = ?1 AND deleted = 0"
# A repeated number changes nothing: the event was kept before.
KEEP_EVENT = """
    INSERT INTO events (response, number, data) VALUES (?1, ?2, ?3) ON CONFLICT (response, number) DO NOTHING"""
EVENTS = """
    SELECT e.number, e.data FROM events e JOIN responses r ON r.key = e.response
    WHERE r.id = ?1 AND r.deleted = 0 AND e.number > ?2 ORDER BY e.number"""
RENEW = """
    INSERT INTO owners (owner, until) VALUES (?1, ?2) ON CONFLICT (owner) DO UPDATE SET until = excluded.until"""
FORGET_OWNERS = """
    DELETE FROM owners WHERE until < ?1 AND NOT EXISTS (SELECT 1 FROM responses r WHERE r.owner = owners.owner)"""
OWNERS = "SELECT owner FROM owners WHERE until >= ?1"
ORPHANS = (
    responses.ROW
    + """
    WHERE r.owner IS NOT NULL AND r.deleted = 0 AND r.status IN ('queued', 'in_progress')
    AND NOT EXISTS (SELECT 1 FROM owners o WHERE o.owner = r.owner AND o.until >= ?1) ORDER BY r.key"""
)


def begin(row: ResponseRow, input_: Sequence[Item], owner: str) -> Job[None]:
    """See Store.begin."""
    before = responses.Before()
    if row.continues is not None:
        before = yield from responses.parent(row.continues)
    elif row.conversation is not None and not (yield from known(conversations.FIND, row.conversation)):
        raise conversations.not_found(row.conversation)
    tools = yield from responses.text_key(row.tools)
    key = yield from responses.insert(row, before, tools, owner)
    yield from responses.insert_items(key, input_, ())


def append_events(response_id: str, events: Sequence[tuple[int, bytes]]) -> Job[None]:
    """See Store.append_events."""
    row = yield from one(FIND, response_id)
    if row is not None and events:
        yield Many(KEEP_EVENT, [(row[0], number, data) for number, data in events])


def events(response_id: str, after: int) -> Job[list[tuple[int, bytes]]]:
    """See Store.events."""
    rows = yield Query(EVENTS, (response_id, after))
    return [(number, data) for number, data in rows]


def renew(owner: str, until: int, now: int) -> Job[None]:
    """See Store.renew. Leases that ended before ``now`` and hold nothing are forgotten."""
    yield Query(RENEW, (owner, until))
    yield Query(FORGET_OWNERS, (now,))


def owners(now: int) -> Job[list[str]]:
    """See Store.owners."""
    rows = yield Query(OWNERS, (now,))
    return [owner for (owner,) in rows]


def orphans(now: int) -> Job[list[ResponseRow]]:
    """See Store.orphans."""
    rows = yield Query(ORPHANS, (now,))
    found = []
    for row in rows:
        found.append((yield from responses.made_row(row)))  # noqa: PERF401
    return found
