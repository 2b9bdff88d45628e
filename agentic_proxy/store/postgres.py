"""PostgresStore: one database that several proxies share, on one machine or on many."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from agentic_proxy.store import migrate
from agentic_proxy.store.jobs import Job, Many, Query, Rows, stored
from agentic_proxy.store.shared import SqlStore
from translators.failure import Failure

if TYPE_CHECKING:
    import asyncpg

T = TypeVar("T")
CONNECTIONS = 10
CONNECT_LIMIT = 10.0
STATEMENT_LIMIT = 30.0
"""Seconds to wait for a connection, and for one statement."""

LOCK = 0x6167_7078
"""The advisory lock of this program. Whoever removes, or changes tables, holds it alone; whoever writes shares it."""
SHARED_LOCK = Query("SELECT pg_advisory_xact_lock_shared(?1)", (LOCK,))
OWN_LOCK = Query("SELECT pg_advisory_xact_lock(?1)", (LOCK,))

INSTALL = "PostgreSQL needs the package asyncpg: install agentic-proxy[postgres]."


class PostgresStore(SqlStore):
    """Made by ``open``."""

    # What the rows hold: the files of PostgreSQL shrink long after a removal.
    SIZE = """
        SELECT COALESCE((SELECT SUM(LENGTH(data)) FROM items), 0) + COALESCE((SELECT SUM(LENGTH(data)) FROM texts), 0)
             + COALESCE((SELECT SUM(LENGTH(data)) FROM responses), 0)
             + COALESCE((SELECT SUM(LENGTH(data)) FROM events), 0)
             + COALESCE((SELECT SUM(LENGTH(outcome)) FROM approvals), 0)
             + 300 * ((SELECT COUNT(*) FROM requests) + (SELECT COUNT(*) FROM attempts))"""

    def __init__(self, driver: ModuleType, pool: asyncpg.Pool[Any], clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._pool = pool
        self._faults = (driver.PostgresError, driver.InterfaceError, OSError, TimeoutError)
        self._refused = driver.IntegrityConstraintViolationError
        self._running: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(cls, url: str, *, clock: Callable[[], float] = time.time) -> PostgresStore:
        """Connect and bring the tables up to date. Raises Failure ``store_failed`` with what to do about it."""
        try:
            import asyncpg
        except ImportError as error:
            raise Failure("store_failed", INSTALL) from error
        try:
            pool = await asyncpg.create_pool(
                url, min_size=1, max_size=CONNECTIONS, timeout=CONNECT_LIMIT, command_timeout=STATEMENT_LIMIT
            )
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, ValueError) as error:
            raise _failure(error) from error
        store = cls(asyncpg, pool, clock)
        try:
            await store._write(migrate.migrate(migrate.statements("postgres")), removes=True)
        except BaseException:
            await store.close()
            raise
        return store

    async def _read(self, job: Job[T]) -> T:
        return await self._guarded(self._transaction(job, None, isolation="repeatable_read", readonly=True))

    async def _write(self, job: Job[T], *, removes: bool = False) -> T:
        lock = OWN_LOCK if removes else SHARED_LOCK
        # A task of its own: whoever waits for it may be cancelled, the transaction runs to its end.
        task = asyncio.get_running_loop().create_task(self._guarded(self._transaction(job, lock), writes=True))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _guarded(self, work: Coroutine[Any, Any, T], *, writes: bool = False) -> T:
        try:
            value = await work
        except self._faults as error:
            failure = _failure(error)
            if writes and not isinstance(error, self._refused):
                self._health.failed(failure)
            raise failure from error
        if writes:
            self._health.worked()
        return value

    async def _transaction(self, job: Job[T], lock: Query | None, **kind: Any) -> T:
        async with self._pool.acquire(timeout=CONNECT_LIMIT) as connection, connection.transaction(**kind):
            if lock is not None:
                await connection.fetch(_numbered(lock.sql), *lock.values)
            return await _run(connection, job)

    async def _shrink(self) -> None:
        """PostgreSQL's own autovacuum does it."""

    async def _close(self) -> None:
        while self._running:
            await asyncio.wait(self._running)
        await self._pool.close()


async def _run(connection: Any, job: Job[T]) -> T:
    try:
        step = next(job)
        while True:
            rows: Rows = ()
            if isinstance(step, Many):
                await connection.executemany(_numbered(step.sql), [_stored(values) for values in step.rows])
            else:
                rows = [tuple(row) for row in await connection.fetch(_numbered(step.sql), *_stored(step.values))]
            step = job.send(rows)
    except StopIteration as stop:
        result: T = stop.value
        return result


@lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """``?1`` is ``$1`` here."""
    return re.sub(r"\?(\d+)", r"$\1", sql)


def _stored(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """PostgreSQL's text holds no NUL, a client's item id may."""
    return tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in stored(values))


def _failure(error: BaseException) -> Failure:
    """The class says more than the message where there is none; the message never holds the URL."""
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    text = f"The PostgreSQL store cannot be used: {said}. Check that the server runs and store.url names it."
    return Failure("store_failed", text)
