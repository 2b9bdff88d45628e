"""``agentic-proxy db stats | prune | export``: what the proxy keeps. A proxy may run meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from typing import TYPE_CHECKING

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.chosen import from_file
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import config_file
from translators.failure import Failure

if TYPE_CHECKING:
    from agentic_proxy.store.base import Store


def run(arguments: argparse.Namespace) -> int:
    """Do it in the configured store; 1: the store cannot be used or is not there, 78: the configuration."""
    try:
        config = _config(arguments.config)
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    try:
        return asyncio.run(_run(arguments, config))
    except Failure as failure:
        output.fail(failure.message)
        return Exit.FAILURE


def _config(flag: str | None) -> Config:
    """Without a file of one's own the defaults hold. Raises ConfigError."""
    if flag is None and not config_file(None, os.environ)[0].exists():
        return Config()
    return from_file(Flags(config=flag)).config


async def _run(arguments: argparse.Namespace, config: Config) -> int:
    from agentic_proxy.store.open import POSTGRES, open_plainly, sqlite_path

    url = config.store.url
    path = None if url.startswith(POSTGRES) else sqlite_path(url, os.environ)
    if path is not None and not path.exists():
        output.fail(f"nothing is stored yet: there is no {path}")
        return Exit.FAILURE
    store = await open_plainly(url)
    try:
        if arguments.action == "stats":
            await _stats(store, as_json=arguments.json)
        elif arguments.action == "prune":
            await _prune(store, config)
        else:
            async for line in store.export():
                output.data(line.decode())
    finally:
        await store.close()
    return Exit.OK


async def _stats(store: Store, *, as_json: bool) -> None:
    stats = await store.stats()
    if as_json:
        output.data(orjson.dumps(stats._asdict()).decode())
        return
    for name, value in stats._asdict().items():
        output.data(f"{name:13} {value:>14,}{' bytes' if name == 'size' else ''}")


async def _prune(store: Store, config: Config) -> None:
    from agentic_proxy.store.retention import prune

    count = await prune(store, config.store.retention, time.time())
    output.data(f"removed: {count} responses and conversations")
