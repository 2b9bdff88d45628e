"""SqliteStore: one file that several proxies may share. One task writes, reads have their own connection.

WAL with synchronous=NORMAL: what was committed outlives the death of the process; a power cut may take the last turns,
but never leaves half of one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agentic_proxy.store import lane, migrate
from agentic_proxy.store.jobs import Job
from agentic_proxy.store.lane import Lane
from agentic_proxy.store.shared import SqlStore
from agentic_proxy.store.state_file import make_private_directory
from agentic_proxy.store.writer import Writer
from translators.failure import Failure

T = TypeVar("T")
BUSY = 5.0
"""Seconds a transaction waits for another process."""
MEMORY = ":memory:"

# Can only be chosen while the file is empty; on another it would be a write.
NEW = "PRAGMA auto_vacuum = INCREMENTAL"
PAGES = "PRAGMA page_count"
SETUP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -8192",
)
READ_ONLY = "PRAGMA query_only = ON"
SHRINK = "PRAGMA incremental_vacuum(1000)"
FREE = "SELECT freelist_count FROM pragma_freelist_count"

FAULTS: dict[str, tuple[str, bool]] = {
    "SQLITE_FULL": ("the disk is full: free some space", True),
    "SQLITE_READONLY": ("it is read-only: check the owner and the mode of the file and its directory", True),
    "SQLITE_CANTOPEN": ("it cannot be opened: check the path, the owner and the mode", True),
    "SQLITE_PERM": ("access was denied: check the owner and the mode", True),
    "SQLITE_IOERR": ("the disk reported an error", True),
    "SQLITE_CORRUPT": ("it is damaged: stop the proxy, move the file away and start again with a new one", True),
    "SQLITE_NOTADB": ("it is not a SQLite database: name another file in store.url, or move this one away", True),
    "SQLITE_BUSY": ("another process has kept it locked for too long: try again", False),
    "SQLITE_LOCKED": ("another process has kept it locked for too long: try again", False),
}
"""What people should know about SQLite's result codes, and whether the next write would fail as well."""


class SqliteStore(SqlStore):
    """Made by ``open``; ``path`` None keeps everything in memory."""

    SIZE = """
        SELECT (p.page_count - f.freelist_count) * s.page_size
        FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s"""

    def __init__(self, name: str, writer: Lane, reader: Lane, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._name = name
        self._writing = writer
        self._reading = reader
        self._writer = Writer(lambda jobs: writer.run(lane.write, jobs))
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path | None, *, clock: Callable[[], float] = time.time, busy: float = BUSY
    ) -> SqliteStore:
        """Open or make the file, for this user alone. Raises Failure ``store_failed`` with what to do about it."""
        name = str(path) if path else "in memory"

        def prepare(connection: sqlite3.Connection) -> None:
            if not connection.execute(PAGES).fetchone()[0]:
                lane.patiently(connection, NEW, busy)
            for statement in SETUP:
                lane.patiently(connection, statement, busy)

        def prepare_reader(connection: sqlite3.Connection) -> None:
            prepare(connection)
            connection.execute(READ_ONLY)

        try:
            _make_file(path)
            writer = await Lane.open(str(path or MEMORY), prepare, busy)
        except (OSError, sqlite3.Error) as error:
            raise _failure(name, error)[0] from error
        try:
            await writer.run(_migrate)
            reader = await Lane.open(str(path), prepare_reader, busy) if path else writer
        except sqlite3.Error as error:
            await writer.close()
            raise _failure(name, error)[0] from error
        except BaseException:
            await writer.close()
            raise
        return cls(name, writer, reader, clock)

    async def _read(self, job: Job[T]) -> T:
        self._check_open()
        try:
            return await self._reading.run(lane.read, job)
        except sqlite3.Error as error:
            raise _failure(self._name, error)[0] from error

    async def _write(self, job: Job[T], *, removes: bool = False) -> T:
        self._check_open()
        try:
            value = await self._writer.run(job)
        except sqlite3.Error as error:
            failure, lasting = _failure(self._name, error)
            if lasting:
                self._health.failed(failure)
            raise failure from error
        self._health.worked()
        return value

    async def _shrink(self) -> None:
        try:
            # Step by step: writers that wait get their turn in between.
            while await self._writing.run(_shrink_a_little):
                pass
        except sqlite3.Error as error:
            raise _failure(self._name, error)[0] from error

    def _check_open(self) -> None:
        if self._closed:
            raise Failure("store_failed", f"The store {self._name} is closed.")

    async def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        if self._reading is not self._writing:
            await self._reading.close()
        await self._writing.close()


def _shrink_a_little(connection: sqlite3.Connection) -> bool:
    """Whether there is more to give back."""
    before = connection.execute(FREE).fetchone()[0]
    connection.execute(SHRINK).fetchall()
    return bool(0 < connection.execute(FREE).fetchone()[0] < before)


def _make_file(path: Path | None) -> None:
    """SQLite gives its WAL and SHM files the mode of the database."""
    if path is None:
        return
    make_private_directory(path.parent)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))


def _migrate(connection: sqlite3.Connection) -> None:
    files = migrate.statements("sqlite")
    if not migrated(connection, len(files)):
        (outcome,) = lane.write(connection, [migrate.migrate(files)])
        assert outcome.error is None


def migrated(connection: sqlite3.Connection, version: int) -> bool:
    """Without writing, so that a store which is only readable can be opened."""
    try:
        return bool(connection.execute(migrate.VERSION).fetchone()[0] == version)
    except sqlite3.OperationalError:
        return False


def _failure(name: str, error: sqlite3.Error | OSError) -> tuple[Failure, bool]:
    """The Failure to show, and whether it lasts."""
    code = getattr(error, "sqlite_errorname", "") or ""
    for prefix, (text, lasting) in FAULTS.items():
        if code.startswith(prefix):
            return Failure("store_failed", f"The store {name} cannot be used: {text}."), lasting
    said = error.strerror if isinstance(error, OSError) else str(error)
    return Failure("store_failed", f"The store {name} cannot be used: {said}."), isinstance(error, OSError)
