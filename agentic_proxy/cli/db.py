"""``agentic-proxy db stats | prune | export``: what the proxy keeps. A proxy may run meanwhile."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.stored import with_store
from agentic_proxy.config.model import Config

if TYPE_CHECKING:
    from agentic_proxy.store.base import Store


def run(arguments: argparse.Namespace) -> int:
    """Do it in the configured store; 1: the store cannot be used or is not there, 78: the configuration."""

    async def work(store: Store, config: Config) -> int:
        if arguments.action == "stats":
            await _stats(store, as_json=arguments.json)
        elif arguments.action == "prune":
            await _prune(store, config)
        else:
            async for line in store.export():
                output.data(line.decode())
        return Exit.OK

    return with_store(arguments.config, work)


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
