"""Jobs about calls that a user approved: whoever claims one first runs it, everybody else reads what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from agentic_proxy.store.jobs import Job, Many, Query, one

FIND = "SELECT outcome FROM approvals WHERE digest = ?1"
CLAIM = """
    INSERT INTO approvals (digest, at) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING RETURNING digest"""
GIVE_BACK = "DELETE FROM approvals WHERE digest = ?1 AND outcome IS NULL"
SETTLE = "UPDATE approvals SET outcome = ?2 WHERE digest = ?1"
OLD = "SELECT 1 FROM approvals WHERE at < ?1 OR (at < ?2 AND LENGTH(outcome) > 0) LIMIT 1"
FORGET = "DELETE FROM approvals WHERE at < ?1"
FORGET_OUTCOMES = "UPDATE approvals SET outcome = ?2 WHERE at < ?1 AND LENGTH(outcome) > 0 RETURNING digest"

OUTCOMES = 86400
"""Seconds for which an outcome is kept: long enough for a client that tries again."""
RECENT = 3600
"""The same where there is no room for more."""


def claim(digests: Sequence[bytes], now: int) -> Job[dict[bytes, bytes | None]]:
    """See Store.claim."""
    found: dict[bytes, bytes | None] = {}
    for digest in digests:
        row = yield from one(FIND, digest)
        if row is not None:
            found[digest] = None if row[0] is None else bytes(row[0])
    mine: list[bytes] = []
    for digest in digests if all(found.values()) else ():
        if digest in found:
            continue
        if (yield from one(CLAIM, digest, now)) is None:
            # Another transaction was faster.
            found[digest] = None
            for each in mine:
                yield Query(GIVE_BACK, (each,))
            break
        mine.append(digest)
    return found


def settle(digest: bytes, outcome: bytes) -> Job[None]:
    """See Store.settle."""
    yield Query(SETTLE, (digest, outcome))


def give_back(digests: Sequence[bytes]) -> Job[None]:
    """See Store.give_back."""
    yield Many(GIVE_BACK, [(digest,) for digest in digests])


def forget(older_than: int, now: int) -> Job[None]:
    """Forget what was claimed before ``older_than``, and outcomes that nobody waits for any more."""
    yield Query(FORGET, (older_than,))
    yield from forget_outcomes(now - OUTCOMES)


def forget_outcomes(before: int) -> Job[bool]:
    """Forget what came of the calls that were claimed before then (Unix seconds); whether there was anything."""
    return bool((yield Query(FORGET_OUTCOMES, (before, b""))))
