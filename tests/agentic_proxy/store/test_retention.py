"""How long things are kept, and that it is looked after."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.config.model import Retention
from agentic_proxy.store import retention
from agentic_proxy.store.retention import DAY, NO_LIMIT, Keeper, prune
from translators.failure import Failure


class Pruned:
    """Takes note of every call of ``prune``; the first one fails."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []
        self.called = asyncio.Event()

    async def prune(self, older_than: int, size: int) -> int:
        self.calls.append((older_than, size))
        self.called.set()
        if len(self.calls) == 1:
            raise Failure("store_failed", "The disk is full.")
        return 3


@pytest.mark.parametrize(
    ("kept", "call"),
    [
        (Retention(days=30, size=1000), (100 * DAY - 30 * DAY, 1000)),
        (Retention(days=0, size=1000), (0, 1000)),
        (Retention(days=1, size=0), (99 * DAY, NO_LIMIT)),
        (Retention(days=10**20, size=1000), (0, 1000)),
    ],
)
async def test_days_and_bytes_are_limits_and_zero_is_none(kept: Retention, call: tuple[int, int]) -> None:
    store = Pruned()
    store.calls.append((0, 0))
    assert await prune(store, kept, 100 * DAY + 0.5) == 3  # type: ignore[arg-type]
    assert store.calls[1:] == [call]


async def test_it_runs_at_once_and_again_and_a_fault_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAUSE", 0.0)
    store = Pruned()
    keeper = Keeper(store, Retention(days=1), lambda: 10 * DAY)  # type: ignore[arg-type]
    while len(store.calls) < 3:
        store.called.clear()
        await store.called.wait()
    await keeper.close()
    count = len(store.calls)
    await asyncio.sleep(0)
    assert (store.calls[0], len(store.calls)) == ((9 * DAY, 2 << 30), count)


async def test_what_is_kept_may_change_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAUSE", 0.0)
    store = Pruned()
    keeper = Keeper(store, Retention(days=1), lambda: 10 * DAY)  # type: ignore[arg-type]
    await store.called.wait()
    keeper.retention = Retention(days=2)
    while store.calls[-1] != (8 * DAY, 2 << 30):
        store.called.clear()
        await store.called.wait()
    await keeper.close()


def test_the_pause_is_ten_minutes() -> None:
    assert retention.PAUSE == 600.0
