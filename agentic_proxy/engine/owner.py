"""Owner: this process as the one that runs its background responses, alive as long as its lease in the store.

The name holds machine, process and start time, so that another process of the same machine sees at once that an owner
is dead and need not wait for the lease to end.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import time
from collections.abc import Awaitable, Callable

import structlog

from agentic_proxy.store.base import Store
from translators.failure import Failure

LEASE = 60
"""Seconds that a lease lasts."""
RENEWAL = 20.0
"""Seconds between renewals."""

log = structlog.get_logger("agentic_proxy.background")


def owner_name() -> str:
    """A fresh name for this process."""
    pid = os.getpid()
    return "/".join((_machine(), str(pid), _start_of(pid), secrets.token_hex(8)))


def is_dead(owner: str) -> bool:
    """Whether an owner's process is known to be gone: it was on this machine, and it is not there any more."""
    return _lives(owner) is False


def is_living(owner: str) -> bool:
    """Whether an owner's process is known to be there, on this machine."""
    return _lives(owner) is True


def _lives(owner: str) -> bool | None:
    """None where that cannot be known: the lease decides."""
    if sys.platform == "win32":  # there os.kill with a 0 is a Ctrl-C for whoever has that number
        return None
    try:
        machine, pid, start, _ = owner.split("/")
        if machine != _machine() or not machine:
            return None
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):
        return None
    return _start_of(int(pid)) == start


def _machine() -> str:
    """This machine since it booted; process ids mean something only here."""
    boot = ""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        # Containers of one machine share the boot and number their processes each for themselves.
        boot += ":" + os.readlink("/proc/self/ns/pid")
    except OSError:
        pass
    return f"{socket.gethostname()}:{boot}".replace("/", "_")


def _start_of(pid: int) -> str:
    """When a process started, in the kernel's own count; empty where that cannot be found out."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


class Lease:
    """Renewed while there is a reason to; ``swept`` runs at every renewal. ``clock`` gives Unix seconds."""

    def __init__(
        self, store: Store, swept: Callable[[], Awaitable[None]], clock: Callable[[], float] = time.time
    ) -> None:
        self.owner = owner_name()
        self._store = store
        self._swept = swept
        self._clock = clock
        self._held = 0
        self._task: asyncio.Task[None] | None = None

    async def take(self) -> None:
        """One more response needs the lease. Raises Failure ``store_failed``."""
        if self._held == 0:
            await self._store.renew(self.owner, int(self._clock()) + LEASE)
        self._held += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._renew())

    def give_back(self) -> None:
        """One response needs it no more."""
        self._held -= 1

    async def end(self) -> None:
        """The process stops."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        try:
            await self._store.renew(self.owner, 0)
        except Failure:
            pass  # it ends by itself

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL)
            try:
                if self._held:
                    await self._store.renew(self.owner, int(self._clock()) + LEASE)
                await self._swept()
            except Failure as failure:
                log.warning("lease_not_renewed", code=failure.code)
