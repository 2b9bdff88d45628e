"""Which store a configuration names, and opening it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import expanded, state_directory
from agentic_proxy.store.shared import SqlStore
from agentic_proxy.store.sqlite import SqliteStore
from translators.failure import Failure

FILE = "state.db"
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
IN_MEMORY = ("memory:", "sqlite:///:memory:", "sqlite://")


def sqlite_path(url: str, environ: Mapping[str, str]) -> Path | None:
    """The file that ``sqlite:///PATH`` names (an absolute PATH makes four slashes, ``~`` is the home), the default
    for an empty URL, None for ``memory:``. Raises Failure ``store_failed`` for any other URL, without showing it."""
    if not url:
        return state_directory(environ) / FILE
    if url in IN_MEMORY:
        return None
    if not url.startswith(SQLITE):
        text = f"store.url must be {SQLITE}PATH, {POSTGRES[0]}USER:PASSWORD@HOST/DATABASE, memory: or empty."
        raise Failure("store_failed", text)
    path = expanded(url.removeprefix(SQLITE))
    if path.parts[:1] and path.parts[0].startswith("~"):
        raise Failure("store_failed", f"store.url begins with {path.parts[0]}, but there is no such home directory.")
    return path


def lasts(url: str) -> bool:
    """Whether anything that this store keeps is there after the process has ended."""
    return url not in IN_MEMORY


async def open_store(
    config: Config, *, environ: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time
) -> SqlStore:
    """Open the store of ``config.store`` with its retention running; the caller closes it. ``clock``: Unix seconds.

    Raises Failure ``store_failed`` with what to do about it.
    """
    store = await open_plainly(config.store.url, environ=environ, clock=clock)
    store.keep(config.store.retention)
    return store


async def open_plainly(
    url: str, *, environ: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time
) -> SqlStore:
    """Open the store without removing anything by itself: for commands that only look. Raises Failure."""
    if url.startswith(POSTGRES):
        from agentic_proxy.store.postgres import PostgresStore

        return await PostgresStore.open(url, clock=clock)
    return await SqliteStore.open(sqlite_path(url, environ), clock=clock)
