"""Migrations: each file once, in order, under the caller's lock."""

from __future__ import annotations

import sqlite3

import pytest

from agentic_proxy.store import lane
from agentic_proxy.store.migrate import migrate, statements
from translators.failure import Failure

FILES = [["CREATE TABLE one (v)"], ["CREATE TABLE two (v)", "INSERT INTO two VALUES (2)"]]


@pytest.fixture
def connection() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]


def test_a_new_store_gets_all_files_and_an_old_one_the_rest(connection: sqlite3.Connection) -> None:
    lane.write(connection, [migrate(FILES[:1])])
    assert tables(connection) == ["one", "schema_version"]
    lane.write(connection, [migrate(FILES)])
    lane.write(connection, [migrate(FILES)])
    assert tables(connection) == ["one", "schema_version", "two"]
    assert connection.execute("SELECT v FROM two").fetchall() == [(2,)]
    assert connection.execute("SELECT version FROM schema_version ORDER BY 1").fetchall() == [(1,), (2,)]


def test_a_file_that_fails_leaves_the_old_version(connection: sqlite3.Connection) -> None:
    lane.write(connection, [migrate(FILES[:1])])
    with pytest.raises(sqlite3.OperationalError):
        lane.write(connection, [migrate([*FILES, ["CREATE TABLE three (v)", "NONSENSE"]])])
    assert tables(connection) == ["one", "schema_version"]


def test_a_store_of_a_newer_program_is_refused(connection: sqlite3.Connection) -> None:
    lane.write(connection, [migrate(FILES)])
    with pytest.raises(Failure, match="version 2, this program knows 1: update agentic-proxy"):
        lane.write(connection, [migrate(FILES[:1])])


def test_both_databases_have_the_same_tables_and_indexes() -> None:
    sqlite, postgres = statements("sqlite"), statements("postgres")
    assert len(sqlite) == len(postgres)
    heads = [[[" ".join(each.split()[:3]) for each in file] for file in files] for files in (sqlite, postgres)]
    assert heads[0] == heads[1]
    every = [each for file in sqlite + postgres for each in file]
    assert all(each.startswith(("CREATE ", "ALTER TABLE ")) and ";" not in each for each in every)
