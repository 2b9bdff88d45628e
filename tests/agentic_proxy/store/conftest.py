"""Every test of the shared suite runs on all stores; ``reopen`` gives another store on the same data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agentic_proxy.store.postgres import PostgresStore
from agentic_proxy.store.shared import SqlStore
from agentic_proxy.store.sqlite import SqliteStore
from support.postgres_server import postgres_server
from support.stored import NOW

__all__ = ["postgres_server"]

Opener = Callable[[], Awaitable[SqlStore]]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlStore]:
    """An empty store whose clock says NOW."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            opened: SqlStore = await SqliteStore.open(None, clock=lambda: NOW)
        elif request.param == "sqlite":
            opened = await SqliteStore.open(tmp_path / "state.db", clock=lambda: NOW)
        else:
            server = request.getfixturevalue("postgres_server")
            url = await stack.enter_async_context(server.schema())
            opened = await PostgresStore.open(url, clock=lambda: NOW)
        stack.push_async_callback(opened.close)
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
async def opener(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens stores on the same data, as several proxies do."""
    async with AsyncExitStack() as stack:
        url = ""
        if request.param == "postgres":
            url = await stack.enter_async_context(request.getfixturevalue("postgres_server").schema())

        async def another() -> SqlStore:
            opened: SqlStore = (
                await PostgresStore.open(url, clock=lambda: NOW)
                if url
                else await SqliteStore.open(tmp_path / "state.db", clock=lambda: NOW)
            )
            stack.push_async_callback(opened.close)
            return opened

        yield another
