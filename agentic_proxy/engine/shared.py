"""Shared: what the turns of a process have in common whatever configuration they run with. It outlives a reload."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from agentic_proxy.config.keys import KEY_SIZE, local_key
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import state_directory
from agentic_proxy.engine.background import Background
from agentic_proxy.engine.lessons import LESSONS_FILE, Lessons
from agentic_proxy.engine.outages import FILE as COOLDOWNS_FILE
from agentic_proxy.engine.outages import Outages
from agentic_proxy.engine.preview import Previews
from agentic_proxy.engine.recall import Recall
from agentic_proxy.engine.repeats import Repeats
from agentic_proxy.routing.affinity import Seats
from agentic_proxy.store.open import POSTGRES, lasts, open_store
from agentic_proxy.store.shared import SqlStore
from agentic_proxy.store.state_file import StateFile
from agentic_proxy.usage.sink import UsageSink

log = structlog.get_logger("agentic_proxy.engine")


def _key(state: Path) -> bytes | None:
    try:
        return local_key(state)
    except (OSError, ValueError) as error:
        log.warning("local_key_unavailable", reason=str(error), effect="sealed reasoning is lost at a restart")
        return None


@dataclass(slots=True)
class Shared:
    """Made once per process."""

    store: SqlStore
    usage: UsageSink
    key: bytes
    """Authenticates what travels through clients."""
    lessons: Lessons
    outages: Outages
    background: Background
    previews: Previews = field(default_factory=Previews)
    repeats: Repeats = field(default_factory=lambda: Repeats(time.monotonic))
    recall: Recall = field(default_factory=Recall)
    seats: Seats = field(default_factory=OrderedDict)

    @classmethod
    async def open(cls, config: Config) -> Shared:
        """Open the store and read the state directory. Raises Failure ``store_failed``."""
        state = state_directory(os.environ)
        lessons = Lessons(StateFile(state / LESSONS_FILE), time.time)
        outages = Outages(StateFile(state / COOLDOWNS_FILE), time.time)
        store = await open_store(config)
        try:
            key = _key(state) or secrets.token_bytes(KEY_SIZE)
            if config.store.url.startswith(POSTGRES):
                # Its proxies may be on many machines, and each must read what another one sealed.
                key = await store.shared_key("local", key)
            background = Background(store)
            await background.recover()
        except BaseException:
            await store.close()
            raise
        usage = UsageSink(store if lasts(config.store.url) else None)
        return cls(store, usage, key, lessons, outages, background)

    async def close(self) -> None:
        """Write what is not written yet and close the store. No turn may be running any more."""
        await self.background.close(0)
        await self.usage.close()
        await asyncio.gather(self.store.close(), self.outages.close(), self.lessons.close())
