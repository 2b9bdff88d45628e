"""PostgreSQL's own side of the store: what goes wrong between two machines."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator

import asyncpg
import pytest

from agentic_proxy.store.postgres import PostgresStore
from support.postgres_server import PostgresServer
from support.raw_upstream import LIMIT
from support.stored import turn, window_ids
from translators.failure import Failure


@pytest.fixture
async def url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    async with postgres_server.schema() as made:
        yield made


@pytest.fixture
async def kept(url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url)
    yield store
    await store.close()


async def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"postgresql://me:pa55word@127.0.0.1:{free.getsockname()[1]}/x"
        with pytest.raises(
            Failure, match=r"The PostgreSQL store cannot be used: .*Check that the server runs"
        ) as caught:
            await PostgresStore.open(url)
    assert caught.value.code == "store_failed" and "pa55word" not in caught.value.message


async def test_a_database_that_is_not_there_is_named(postgres_server: PostgresServer) -> None:
    with pytest.raises(Failure, match='database "postgres_nowhere" does not exist'):
        await PostgresStore.open(f"{postgres_server.url}_nowhere")


async def test_a_missing_driver_is_said_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(Failure, match=r"install agentic-proxy\[postgres\]"):
        await PostgresStore.open("postgresql://x")


async def test_lost_connections_fail_once_and_the_store_comes_back(
    postgres_server: PostgresServer, kept: PostgresStore
) -> None:
    await kept.commit(turn("a"))
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    connection = await asyncpg.connect(postgres_server.url)
    async with asyncio.timeout(LIMIT):  # they are only told to end: each does when it gets to it
        while await connection.fetch(f"SELECT pg_terminate_backend(pid) {others}"):
            pass
    await connection.close()
    failed = await asyncio.gather(kept.commit(turn("b")), return_exceptions=True)
    assert [getattr(each, "code", True) for each in failed] in (["store_failed"], [True])
    assert await kept.commit(turn("c")) is True
    await kept.ready()
    assert await window_ids(kept, "a") == ["in_a", "out_a"]


async def test_a_write_that_failed_marks_the_store_until_one_works(url: str, kept: PostgresStore) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("ALTER TABLE responses RENAME TO elsewhere")
    with pytest.raises(Failure, match='relation "responses" does not exist'):
        await kept.commit(turn("a"))
    with pytest.raises(Failure, match='relation "responses" does not exist'):
        await kept.ready()
    await connection.execute("ALTER TABLE elsewhere RENAME TO responses")
    await connection.close()
    assert await kept.commit(turn("a")) is True
    await kept.ready()


async def test_a_reader_sees_one_state_while_others_write(kept: PostgresStore) -> None:
    await kept.commit(turn("r0"))

    async def grow() -> None:
        for number in range(30):
            await kept.commit(turn(f"r{number + 1}", after=f"r{number}"))
            await kept.delete_response(f"r{number}")

    growing = asyncio.ensure_future(grow())
    while not growing.done():
        for number in range(31):
            window = await window_ids(kept, f"r{number}")
            assert window is None or len(window) == 2 * number + 2
    await growing
