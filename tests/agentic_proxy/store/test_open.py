"""Which store a URL names."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_proxy.config.model import Config, Retention
from agentic_proxy.config.model import Store as StoreConfig
from agentic_proxy.store.open import open_plainly, open_store, sqlite_path
from agentic_proxy.store.postgres import PostgresStore
from agentic_proxy.store.sqlite import SqliteStore
from support.postgres_server import PostgresServer
from support.stored import gone, turn, window_ids
from translators.failure import Failure


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", Path("/home/me/proxy/state.db")),
        ("sqlite:////var/lib/state.db", Path("/var/lib/state.db")),
        ("sqlite:///state.db", Path("state.db")),
        ("sqlite:///~/state.db", Path.home() / "state.db"),
        ("memory:", None),
        ("sqlite:///:memory:", None),
    ],
)
def test_a_url_names_a_file_or_memory(url: str, path: Path | None) -> None:
    assert sqlite_path(url, {"AGENTIC_PROXY_HOME": "/home/me/proxy"}) == path


@pytest.mark.parametrize("url", ["mysql://me:secret@host/x", "state.db", "sqlite:/x", "redis://x"])
async def test_another_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(Failure, match=r"store\.url must be sqlite:///PATH, postgresql://") as caught:
        await open_plainly(url)
    assert "secret" not in caught.value.message


def test_a_home_that_is_not_there_is_no_place_for_a_store() -> None:
    with pytest.raises(Failure, match=r"store\.url begins with ~no-such-user-of-a-test, but there is no such home"):
        sqlite_path("sqlite:///~no-such-user-of-a-test/state.db", {})


async def test_the_default_is_a_file_in_the_state_directory(tmp_path: Path) -> None:
    store = await open_store(Config(), environ={"AGENTIC_PROXY_HOME": str(tmp_path)})
    assert isinstance(store, SqliteStore)
    await store.commit(turn("a", created_at=1 << 40))
    await store.close()
    assert (tmp_path / "state.db").exists()
    again = await open_plainly(f"sqlite:///{tmp_path}/state.db")
    assert await window_ids(again, "a") == ["in_a", "out_a"]
    await again.close()


async def test_the_configured_retention_runs_from_the_start(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    config = Config(store=StoreConfig(url, Retention(days=1)))
    store = await open_plainly(url)
    await store.commit(turn("old"))
    await store.close()
    store = await open_store(config, clock=lambda: 200_000.0)
    await gone(store, "old")
    await store.close()


async def test_postgres_is_opened_by_its_url(postgres_server: PostgresServer) -> None:
    async with postgres_server.schema() as url:
        store = await open_store(Config(store=StoreConfig(url)))
        assert isinstance(store, PostgresStore)
        await store.close()
