"""Jobs about keys that all proxies on one database share."""

from __future__ import annotations

from agentic_proxy.store.jobs import Job, Query, one

FIND = "SELECT data FROM keys WHERE name = ?1"
INSERT = "INSERT INTO keys (name, data) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING"


def shared_key(name: str, proposed: bytes) -> Job[bytes]:
    """See Store.shared_key."""
    yield Query(INSERT, (name, proposed))
    row = yield from one(FIND, name)
    return bytes(row[0]) if row else proposed
