"""The store for commands that look into it. A proxy may run meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from agentic_proxy.cli import output
from agentic_proxy.cli.chosen import from_file, in_use
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import config_file
from translators.failure import Failure

if TYPE_CHECKING:
    from agentic_proxy.store.base import Store

    Work: TypeAlias = Callable[[Store, Config], Awaitable[int]]


def with_store(flag: str | None, work: Work) -> int:
    """Do ``work`` with the configured store; its exit code. 1: the store cannot be used, is not there, or lives in the
    memory of its proxy only; 78: the configuration. ``flag`` is what ``--config`` says."""
    try:
        config = _config(flag)
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    try:
        return asyncio.run(_run(config, work))
    except Failure as failure:
        output.fail(failure.message)
        return Exit.FAILURE


def _config(flag: str | None) -> Config:
    """Without a file that somebody named or that is there the defaults hold. Raises ConfigError."""
    flag = in_use(flag, os.environ)
    named = flag is not None or os.environ.get("AGENTIC_PROXY_CONFIG")
    if not named and not config_file(None, os.environ)[0].exists():
        return Config()
    return from_file(Flags(config=flag)).config


async def _run(config: Config, work: Work) -> int:
    from agentic_proxy.store.open import POSTGRES, lasts, open_plainly, sqlite_path

    url = config.store.url
    if not lasts(url):
        text = f"store.url is {url}: nothing is kept that a command could show. Name a file or a database there"
        raise Failure("store_failed", text)
    path = None if url.startswith(POSTGRES) else sqlite_path(url, os.environ)
    if path is not None and not path.exists():
        raise Failure("store_failed", f"nothing is stored yet: there is no {path}")
    store = await open_plainly(url)
    try:
        return await work(store, config)
    finally:
        await store.close()
