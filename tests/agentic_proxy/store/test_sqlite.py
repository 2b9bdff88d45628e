"""SQLite's own side of the store: files for one user, and faults that say what to do."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
import pytest

from agentic_proxy.store.base import FinishedTurn
from agentic_proxy.store.health import PAUSE
from agentic_proxy.store.sqlite import SqliteStore
from support.stored import item, row, turn, window_ids
from translators.failure import Failure


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
async def kept(path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(path)
    yield store
    await store.close()


def modes(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in (folder, *folder.iterdir())}


async def test_everything_on_disk_is_for_this_user_alone(path: Path, kept: SqliteStore) -> None:
    await kept.commit(turn("a"))
    names = ("state.db", "state.db-wal", "state.db-shm")
    assert modes(path.parent) == {"state": 0o700} | dict.fromkeys(names, 0o600)


async def test_a_loose_umask_changes_nothing(path: Path) -> None:
    before = os.umask(0)
    try:
        store = await SqliteStore.open(path)
        await store.commit(turn("a"))
        assert set(modes(path.parent).values()) == {0o700, 0o600}
        await store.close()
    finally:
        os.umask(before)


async def test_it_is_the_mode_of_sqlite_that_survives_a_killed_process(kept: SqliteStore) -> None:
    def asked(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "auto_vacuum", "busy_timeout")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await kept._writing.run(asked) == ["wal", 1, 1, 2, 5000]


async def test_what_was_closed_comes_back(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.commit(turn("a"))
    await store.close()
    assert not path.with_name("state.db-wal").exists(), "the last one to close takes the log into the file"
    again = await SqliteStore.open(path)
    assert await window_ids(again, "a") == ["in_a", "out_a"]
    await again.close()


async def test_a_closed_store_says_so(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.close()
    for work in (store.window("a"), store.commit(turn("a"))):
        with pytest.raises(Failure, match=r"state\.db is closed") as caught:
            await work
        assert caught.value.code == "store_failed"


def full(connection: sqlite3.Connection) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")


def roomy(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA max_page_count = 1000000")


def big(name: str) -> FinishedTurn:
    return FinishedTurn(row(name), (item()._replace(data=b'"' + b"x" * 100_000 + b'"'),), ())


@pytest.mark.requirement("R11")
async def test_a_full_disk_is_said_clearly_and_reading_goes_on(kept: SqliteStore) -> None:
    await kept.commit(turn("a"))
    await kept._writing.run(full)
    with pytest.raises(Failure, match=r"state\.db cannot be used: the disk is full: free some space") as caught:
        await kept.commit(big("b"))
    assert (caught.value.code, caught.value.side, caught.value.status) == ("store_failed", "proxy", 500)
    with pytest.raises(Failure, match="the disk is full"):
        await kept.ready()
    assert await window_ids(kept, "a") == ["in_a", "out_a"]
    assert await kept.response("b") is None
    await kept._writing.run(roomy)
    assert await kept.commit(big("b")) is True
    await kept.ready()


async def test_a_full_disk_takes_all_turns_of_the_moment_and_none_in_part(kept: SqliteStore) -> None:
    await kept._writing.run(full)
    done = await asyncio.gather(*(kept.commit(big(f"r{number}")) for number in range(5)), return_exceptions=True)
    assert {getattr(each, "code", each) for each in done} == {"store_failed"}
    assert (await kept.stats())[:2] == (0, 0)


async def test_a_store_that_became_read_only_is_found_working_again_by_itself(kept: SqliteStore) -> None:
    now = 100.0
    kept._health._clock = lambda: now
    await kept._writing.run(lambda connection: connection.execute("PRAGMA query_only = ON"))
    with pytest.raises(Failure, match="it is read-only: check the owner and the mode"):
        await kept.commit(turn("a"))
    now += PAUSE
    with pytest.raises(Failure, match="read-only"):
        await kept.ready()
    assert kept._health.probing is not None
    await asyncio.wait([kept._health.probing])
    await kept._writing.run(lambda connection: connection.execute("PRAGMA query_only = OFF"))
    now += PAUSE
    with pytest.raises(Failure, match="read-only"):
        await kept.ready()
    await asyncio.wait([kept._health.probing])
    await kept.ready()


async def test_a_refused_turn_is_not_the_stores_fault(kept: SqliteStore) -> None:
    with pytest.raises(Failure):
        await kept.commit(turn("a", after="gone"))
    await kept.ready()


async def test_a_file_that_another_process_keeps_locked_is_a_fault_of_the_moment(path: Path) -> None:
    store = await SqliteStore.open(path, busy=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Failure, match="another process has kept it locked for too long"):
        await store.commit(turn("a"))
    await store.ready()
    assert await store.window("a") is None, "reading needs no lock"
    other.execute("COMMIT")
    assert await store.commit(turn("a")) is True
    other.close()
    await store.close()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"notes of mine\n" * 1000)
    with pytest.raises(Failure, match=r"state\.db cannot be used: it is not a SQLite database: name another file"):
        await SqliteStore.open(path)
    assert path.read_bytes() == b"notes of mine\n" * 1000


async def test_a_damaged_file_is_said_clearly(path: Path) -> None:
    store = await SqliteStore.open(path)
    for number in range(50):
        await store.commit(turn(f"r{number}"))
    await store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(Failure, match="it is damaged: stop the proxy, move the file away"):
        await SqliteStore.open(path)


async def test_a_place_that_cannot_be_a_file_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "state.db"):
        with pytest.raises(Failure, match="cannot be used") as caught:
            await SqliteStore.open(place)
        assert caught.value.code == "store_failed"


async def test_a_store_that_can_only_be_read_is_opened_for_reading(path: Path, kept: SqliteStore) -> None:
    # Version and tables are there, so that nothing has to be written to open it.
    await kept.commit(turn("a"))
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    second = await SqliteStore.open(path, busy=0.05)
    assert await window_ids(second, "a") == ["in_a", "out_a"]
    await second.close()
    lock.close()


async def test_pruning_gives_the_space_back(path: Path, kept: SqliteStore) -> None:
    for number in range(60):
        await kept.commit(big(f"r{number}"))
    await kept.prune(1 << 40, 0)
    await kept.close()
    assert path.stat().st_size < 300_000


async def test_a_memory_store_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = await SqliteStore.open(None)
    await store.commit(turn("a"))
    assert await window_ids(store, "a") == ["in_a", "out_a"]
    await store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("R11")
async def test_a_turn_costs_two_thread_hops(kept: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await kept.commit(turn("a"))
    hops: list[object] = []
    execute = aiosqlite.Connection._execute

    def counted(connection: aiosqlite.Connection, function: object, *values: object) -> object:
        hops.append(function)
        return execute(connection, function, *values)

    monkeypatch.setattr(aiosqlite.Connection, "_execute", counted)
    await kept.ready()
    await kept.window("a")
    await kept.commit(turn("b", after="a"))
    assert len(hops) == 2
