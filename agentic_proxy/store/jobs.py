"""Jobs: what the store does, written once for both databases.

A job is a generator that yields SQL and is sent the rows; SQLite runs it on its thread, PostgreSQL on the event loop.
One job is one transaction: an exception that leaves it undoes everything it did. Placeholders are ``?1``, ``?2``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from translators.surrogates import clean

T = TypeVar("T")
Rows: TypeAlias = Sequence[Sequence[Any]]


class Query(NamedTuple):
    """One statement; the job is sent its rows."""

    sql: str
    values: tuple[Any, ...] = ()


class Many(NamedTuple):
    """One statement, once for each row of values; the job is sent no rows."""

    sql: str
    rows: Sequence[tuple[Any, ...]]


Step: TypeAlias = Query | Many
Job: TypeAlias = Generator[Step, Rows, T]


def stored(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values as a database takes them: UTF-8 holds no half of a surrogate pair, which a client's id may."""
    return tuple(clean(value) if isinstance(value, str) else value for value in values)


def one(sql: str, *values: Any) -> Job[Sequence[Any] | None]:
    """The first row, or None."""
    rows = yield Query(sql, values)
    return rows[0] if rows else None


def known(sql: str, *values: Any) -> Job[bool]:
    """Whether there is a row."""
    return bool((yield Query(sql, values)))
