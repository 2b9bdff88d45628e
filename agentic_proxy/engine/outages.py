"""Outages: the cooldowns of all turns, shared with other processes and kept over a restart in a small file.

What a turn notes counts here at once. The file is read when somebody is looking for a candidate, at most once a second
and only when it changed; it is written a second after a change, in a thread, never on the way of a stream.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import structlog

from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.cooldown import EVERY_MODEL, Cooldowns, Cooling
from agentic_proxy.store.state_file import StateFile
from translators.events import Json
from translators.failure import Failure

log = structlog.get_logger("agentic_proxy.outages")

FILE: Final = "cooldowns.json"
EVERY: Final = 1.0
"""Seconds between two looks at the file, and at least between two writes."""
LOGGED: Final = 5.0
"""Shorter outages are no news."""


def credential_id(provider: Provider, number: int) -> str:
    """Names one key of a provider in the file: a digest, so that a changed key or address starts afresh and the key
    itself is not there. ``number`` counts from 1, 0 is a provider without keys."""
    return _digest(provider.name, provider.base_url, provider.api_keys[number - 1] if number else None)


@lru_cache(maxsize=1024)
def _digest(name: str, base_url: str, key: Secret | None) -> str:
    parts = (name, base_url, key.reveal() if key is not None else "")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _id(candidate: Candidate) -> str:
    return credential_id(candidate.target.provider, candidate.number)


def clock_time(at: float) -> str:
    """Unix seconds for people and logs: ``2026-11-29T17:05:00Z``."""
    return datetime.fromtimestamp(min(at, 253402300799.0), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Outages:
    """``file`` None: only in memory; ``clock`` gives Unix seconds."""

    def __init__(self, file: StateFile | None, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._cooldowns = Cooldowns()
        self._looked = float("-inf")
        self._version: tuple[int, int] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._unsaved = False

    def refresh(self) -> None:
        """Take in what other processes noted; costs nothing when asked again within a second."""
        now = self._clock()
        if self._file is None or 0 <= now - self._looked < EVERY:
            return
        self._looked = now
        try:
            status = self._file.path.stat()
            version = (status.st_mtime_ns, status.st_ino)
            if version != self._version:
                self._cooldowns.merge(self._file.read(), now)
                self._version = version
        except FileNotFoundError:
            pass
        except OSError as error:
            log.warning("cooldowns_unreadable", path=str(self._file.path), reason=error.strerror)

    def of(self, candidate: Candidate) -> Cooling | None:
        """Why a candidate is out, if it is."""
        return self._cooldowns.of(_id(candidate), candidate.target.upstream_model, self._clock())

    def failed(self, candidate: Candidate, failure: Failure) -> Cooling | None:
        """An attempt failed; returns for how long the candidate is out, None when the fault is none of its own."""
        target = candidate.target
        cooling = self._cooldowns.fault(_id(candidate), target.upstream_model, failure, self._clock())
        if cooling is not None:
            if cooling.until - cooling.at >= LOGGED:
                log.warning(
                    "candidate_out",
                    provider=target.provider.name,
                    model=target.upstream_model,
                    key=candidate.key or None,
                    code=cooling.code,
                    until=clock_time(cooling.until),
                )
            self._save_soon()
        return cooling

    def worked(self, candidate: Candidate) -> None:
        """An attempt succeeded."""
        target = candidate.target
        if self._cooldowns.success(_id(candidate), target.upstream_model, self._clock()):
            place = {"provider": target.provider.name, "model": target.upstream_model}
            log.info("candidate_back", **place, key=candidate.key or None)
            self._save_soon()

    def listing(self, providers: tuple[Provider, ...]) -> list[Json]:
        """What is out of these providers, for people: provider, key, model (None: all), code, until."""
        self.refresh()
        rows = self._cooldowns.rows(self._clock())
        found: list[Json] = []
        for provider in providers:
            count = len(provider.api_keys)
            for number in range(1, count + 1) if count else (0,):
                name = credential_id(provider, number)
                found += [
                    {
                        "provider": provider.name,
                        "key": number if count > 1 else None,
                        "model": None if row.model == EVERY_MODEL else row.model,
                        "code": row.cooling.code,
                        "until": clock_time(row.cooling.until),
                    }
                    for row in rows
                    if row.credential == name
                ]
        return found

    async def close(self) -> None:
        """Write what is not written yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await self._writing
        if self._unsaved:
            await self._save()

    def _save_soon(self) -> None:
        if self._file is None:
            return
        self._unsaved = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._begin_saving)

    def _begin_saving(self) -> None:
        self._timer = None
        if self._writing is not None and not self._writing.done():
            self._save_soon()
            return
        self._writing = asyncio.get_running_loop().create_task(self._save())

    async def _save(self) -> None:
        file = self._file
        assert file is not None, "only a change of a kept state is saved"
        self._unsaved = False
        mine = self._cooldowns.content(self._clock())
        try:
            content = await asyncio.to_thread(file.update, lambda theirs: _merged(theirs, mine, self._clock()))
        except OSError as error:
            log.warning("cooldowns_not_saved", path=str(file.path), reason=error.strerror or str(error))
        else:
            self._cooldowns.merge(content, self._clock())


def _merged(theirs: Json, mine: Json, now: float) -> Json:
    both = Cooldowns()
    both.merge(theirs, now)
    both.merge(mine, now)
    content: dict[str, Any] = both.content(now)
    return content
