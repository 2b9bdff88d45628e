"""Transactions on one SQLite connection."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator

import pytest

from agentic_proxy.store import lane
from agentic_proxy.store.jobs import Job, Many, Query
from agentic_proxy.store.lane import Lane
from support.raw_upstream import LIMIT


def insert(*values: object, wrong: str = "") -> Job[int]:
    yield Many("INSERT INTO t VALUES (?1)", [(value,) for value in values])
    if wrong == "python":
        raise ValueError(wrong)
    if wrong == "sql":
        yield Query("INSERT INTO t SELECT missing")
    rows = yield Query("SELECT COUNT(*) FROM t")
    return int(rows[0][0])


def rows(connection: sqlite3.Connection) -> list[int]:
    return [value for (value,) in connection.execute("SELECT v FROM t ORDER BY v")]


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute("CREATE TABLE t (v INTEGER CHECK (v > 0))")
    return made


def test_a_batch_is_one_transaction_with_an_outcome_for_each_job(connection: sqlite3.Connection) -> None:
    said: list[str] = []
    connection.set_trace_callback(said.append)
    assert lane.write(connection, [insert(1), insert(2, 3)]) == [lane.Outcome(1), lane.Outcome(3)]
    assert [each for each in said if each in ("BEGIN IMMEDIATE", "COMMIT")] == ["BEGIN IMMEDIATE", "COMMIT"]
    assert rows(connection) == [1, 2, 3]


def test_a_job_that_fails_among_others_is_undone_alone(connection: sqlite3.Connection) -> None:
    outcomes = lane.write(
        connection, [insert(1), insert(2, wrong="python"), insert(3, wrong="sql"), insert(4, -4), insert(5)]
    )
    assert [type(each.error) for each in outcomes] == [
        type(None),
        ValueError,
        sqlite3.OperationalError,
        sqlite3.IntegrityError,
        type(None),
    ]
    assert rows(connection) == [1, 5]
    assert not connection.in_transaction


@pytest.mark.parametrize("wrong", ["python", "sql"])
def test_a_job_that_fails_alone_raises_and_leaves_nothing(connection: sqlite3.Connection, wrong: str) -> None:
    with pytest.raises((ValueError, sqlite3.OperationalError)):
        lane.write(connection, [insert(1, wrong=wrong)])
    assert rows(connection) == []
    assert not connection.in_transaction


def test_a_full_disk_undoes_the_whole_batch_and_leaves_no_transaction(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE big (v)")
    connection.execute("PRAGMA max_page_count = 10")

    def fill() -> Job[None]:
        yield Query("INSERT INTO big VALUES (zeroblob(1000000))")

    with pytest.raises(sqlite3.OperationalError, match="full"):
        lane.write(connection, [insert(1), fill()])
    assert not connection.in_transaction
    assert rows(connection) == []
    assert lane.write(connection, [insert(2)]) == [lane.Outcome(1)]


def test_a_read_ends_its_transaction_also_when_it_fails(connection: sqlite3.Connection) -> None:
    def fail() -> Job[None]:
        yield Query("SELECT missing")

    with pytest.raises(sqlite3.OperationalError):
        lane.read(connection, fail())
    assert not connection.in_transaction


@pytest.fixture
async def opened() -> AsyncIterator[Lane]:
    made = await Lane.open(":memory:", lambda connection: None, 1.0)
    yield made
    await made.close()


async def test_functions_run_on_one_thread_in_order(opened: Lane) -> None:
    threads = await asyncio.gather(*(opened.run(lambda connection: threading.get_ident()) for _ in range(3)))
    assert len({*threads, threading.get_ident()}) == 2
    assert await opened.run(lambda connection, one, two: one + two, 1, 2) == 3


async def test_a_cancelled_caller_does_not_stop_what_runs(opened: Lane) -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def slow(connection: sqlite3.Connection) -> None:
        begun.set()
        go_on.wait(LIMIT)
        done.append("slow")

    task = asyncio.ensure_future(opened.run(slow))
    await asyncio.to_thread(begun.wait, LIMIT)
    task.cancel()
    go_on.set()
    await opened.run(lambda connection: done.append("next"))
    assert (task.cancelled(), done) == (True, ["slow", "next"])


async def test_a_lane_that_cannot_be_set_up_leaves_no_thread() -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("no")

    before = set(threading.enumerate())
    with pytest.raises(sqlite3.OperationalError):
        await Lane.open(":memory:", fail, 1.0)
    for thread in set(threading.enumerate()) - before:
        await asyncio.to_thread(thread.join, LIMIT)
        assert not thread.is_alive()


def test_a_program_that_forgets_to_close_its_store_still_ends() -> None:
    script = """
import asyncio, os
from agentic_proxy.store.lane import Lane
async def main():
    global kept
    kept = await Lane.open(":memory:", lambda connection: None, 1.0)
asyncio.run(main())
print("ended")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (0, "ended\n")


def test_a_locked_statement_is_tried_until_the_limit(tmp_path: object) -> None:
    first = sqlite3.connect(f"{tmp_path}/x.db", isolation_level=None)
    second = sqlite3.connect(f"{tmp_path}/x.db", isolation_level=None, timeout=0)
    first.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        lane.patiently(second, "BEGIN IMMEDIATE", 0.05)
    first.execute("COMMIT")
    lane.patiently(second, "BEGIN IMMEDIATE", 0.05)
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        lane.patiently(second, "NONSENSE", 5)
    first.close()
    second.close()
