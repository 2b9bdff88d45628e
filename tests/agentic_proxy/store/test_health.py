"""A store that failed says so at once, and finds out by itself when it works again."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.store.health import PAUSE, Health
from translators.failure import Failure

FULL = Failure("store_failed", "The disk is full.")


class Probe:
    """A write that works or fails; tells how often it was tried."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tries = 0
        self.works = False
        self.health = Health(self.write, lambda: self.now)

    async def write(self) -> None:
        self.tries += 1
        if not self.works:
            self.health.failed(FULL)
            raise FULL
        self.health.worked()

    async def probed(self) -> None:
        if self.health.probing is not None:
            await asyncio.wait([self.health.probing])


async def test_a_healthy_store_is_not_probed() -> None:
    probe = Probe()
    probe.health.check()
    assert (probe.health.probing, probe.tries) == (None, 0)


async def test_a_failed_store_raises_what_failed_until_a_write_works() -> None:
    probe = Probe()
    probe.health.failed(FULL)
    for _ in range(3):
        with pytest.raises(Failure, match="disk is full") as caught:
            probe.health.check()
        assert caught.value is not FULL and caught.value.code == "store_failed"
    probe.health.worked()
    probe.health.check()


async def test_it_is_probed_once_in_a_while_behind_the_callers_back() -> None:
    probe = Probe()
    probe.health.failed(FULL)
    for now, tries in ((0.5, 0), (PAUSE, 1), (PAUSE + 0.5, 1), (2 * PAUSE, 2)):
        probe.now = now
        with pytest.raises(Failure):
            probe.health.check()
        await probe.probed()
        assert probe.tries == tries
    probe.works, probe.now = True, 3 * PAUSE
    with pytest.raises(Failure):
        probe.health.check()
    await probe.probed()
    probe.health.check()


async def test_close_waits_for_the_probe() -> None:
    probe = Probe()
    probe.health.failed(FULL)
    probe.now = PAUSE
    with pytest.raises(Failure):
        probe.health.check()
    await probe.health.close()
    assert (probe.tries, probe.health.probing) == (1, None)
