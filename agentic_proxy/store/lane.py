"""Lane: one SQLite connection on its own thread. What runs there is a whole transaction, one hop for each."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, TypeVar

import aiosqlite

from agentic_proxy.store.jobs import Job, Many, Rows, stored
from agentic_proxy.store.writer import Outcome

T = TypeVar("T")
STATEMENTS = 128
_LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")


class Lane:
    """Runs functions that get the connection. Cancelling a caller does not stop a function that runs."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, path: str, prepare: Callable[[sqlite3.Connection], None], busy: float) -> Lane:
        """``prepare`` sets the connection up; ``busy``: seconds to wait for another process. Raises sqlite3.Error."""
        connection = aiosqlite.connect(path, isolation_level=None, cached_statements=STATEMENTS, timeout=busy)
        # A program that ends without closing the store must not wait for its thread.
        connection._thread.daemon = True
        lane = cls(await connection)
        try:
            await lane.run(prepare)
        except BaseException:
            await connection.close()
            raise
        return lane

    async def run(self, function: Callable[..., T], *values: Any) -> T:
        """``function(connection, *values)`` on the thread."""
        # The one way to have a whole transaction on aiosqlite's thread: its own methods are a hop for each statement.
        result: T = await self._connection._execute(function, self._connection._conn, *values)  # type: ignore[no-untyped-call]
        return result

    async def close(self) -> None:
        """After what is queued."""
        await self._connection.close()


def run_job(connection: sqlite3.Connection, job: Job[T]) -> T:
    """Run a job's statements in the transaction that is open."""
    try:
        step = next(job)
        while True:
            rows: Rows = ()
            if isinstance(step, Many):
                connection.executemany(step.sql, map(stored, step.rows))
            else:
                rows = connection.execute(step.sql, stored(step.values)).fetchall()
            step = job.send(rows)
    except StopIteration as stop:
        result: T = stop.value
        return result


def read(connection: sqlite3.Connection, job: Job[T]) -> T:
    """Run a job on one state of the database."""
    connection.execute("BEGIN")
    try:
        return run_job(connection, job)
    finally:
        connection.execute("COMMIT")


def write(connection: sqlite3.Connection, jobs: list[Job[Any]]) -> list[Outcome]:
    """Run jobs in one transaction; one that raises is undone alone. Raises what undid all of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if len(jobs) == 1:
            outcomes = [Outcome(run_job(connection, jobs[0]))]
        else:
            outcomes = [_attempt(connection, job) for job in jobs]
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has already rolled back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _attempt(connection: sqlite3.Connection, job: Job[Any]) -> Outcome:
    connection.execute("SAVEPOINT job")
    try:
        value = run_job(connection, job)
    except Exception as error:
        if not connection.in_transaction:
            raise
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        return Outcome(None, error)
    connection.execute("RELEASE job")
    return Outcome(value)


def patiently(connection: sqlite3.Connection, statement: str, limit: float) -> None:
    """Execute a statement for which SQLite itself does not wait while another process has the file locked."""
    deadline = time.monotonic() + limit
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(_LOCKED) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
