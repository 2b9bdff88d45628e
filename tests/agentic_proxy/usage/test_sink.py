"""The usage sink takes records at once, writes them a moment later in batches, and fails nobody where it cannot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_proxy.usage import sink as module
from agentic_proxy.usage.base import RequestRecord, Story, Sums, UsageRecord
from agentic_proxy.usage.sink import UsageSink
from support.engines import eventually
from support.raw_upstream import LIMIT
from translators.failure import Failure

FULL = ("usage_not_kept", "The disk is full.")


def attempt(name: str) -> UsageRecord:
    return UsageRecord(0.0, name, "responses", "m", "up", "m", 0.1, None, repairs=("fence",))


def request(name: str) -> RequestRecord:
    return RequestRecord(0.0, name, "", "responses", "http", "codex", "m", "", "", 200, "completed", None, 0.1)


class Written:
    """A ledger in memory. The first ``faults`` batches fail; ``taken`` is set by every one that is kept."""

    def __init__(self, faults: int = 0) -> None:
        self.batches: list[tuple[list[str], list[str]]] = []
        self.faults = faults
        self.taken = asyncio.Event()

    async def keep_usage(self, requests: Any, attempts: Any) -> None:
        await asyncio.sleep(0)
        if self.faults:
            self.faults -= 1
            raise Failure("store_failed", "The disk is full.")
        self.batches.append(([each.id for each in requests], [each.response_id for each in attempts]))
        self.taken.set()

    async def usage_since(self, at: int) -> Sums:
        raise AssertionError("a sink only writes")

    async def story(self, name: str) -> Story | None:
        raise AssertionError("a sink only writes")


async def test_records_are_readable_at_once_and_written_together_within_a_second() -> None:
    assert module.PAUSE < 1
    ledger = Written()
    sink = UsageSink(ledger)
    sink.append(attempt("a"))
    sink.append(attempt("b"))
    sink.answered(request("r"))
    assert ([each.response_id for each in sink.records], ledger.batches) == (["a", "b"], [])
    assert sink.repairs == {("up", "m", "fence"): 2}
    async with asyncio.timeout(LIMIT):
        await ledger.taken.wait()
    assert ledger.batches == [(["r"], ["a", "b"])]
    await sink.close()
    assert ledger.batches == [(["r"], ["a", "b"])]


async def test_what_comes_while_a_batch_is_written_goes_with_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)

    class Slow(Written):
        async def keep_usage(self, requests: Any, attempts: Any) -> None:
            if len(self.batches) < 2:
                sink.append(attempt("later"))
            await super().keep_usage(requests, attempts)

    ledger = Slow()
    sink = UsageSink(ledger)
    sink.append(attempt("a"))
    await eventually(lambda: len(ledger.batches) == 3)
    assert ledger.batches == [([], ["a"]), ([], ["later"]), ([], ["later"])]
    await sink.close()


async def test_many_records_are_several_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    ledger = Written()
    sink = UsageSink(ledger)
    for name in "abcde":
        sink.append(attempt(name))
    sink.answered(request("r"))
    await sink.flush()
    assert ledger.batches == [(["r"], ["a", "b"]), ([], ["c", "d"]), ([], ["e"])]
    await sink.close()


async def test_closing_writes_what_is_pending_and_ends_the_writing() -> None:
    ledger = Written()
    sink = UsageSink(ledger)
    before = asyncio.all_tasks()
    sink.append(attempt("a"))
    sink.answered(request("r"))
    await sink.close()
    await sink.close()
    sink.append(attempt("late"))
    assert (ledger.batches, asyncio.all_tasks()) == ([(["r"], ["a"])], before)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The warnings: event and reason."""
    lines: list[tuple[str, str]] = []
    monkeypatch.setattr(
        module.log, "warning", lambda event, **more: lines.append((event, more["reason"])), raising=False
    )
    return lines


async def test_what_a_ledger_does_not_take_waits_for_it_and_is_complained_about_once(
    logged: list[tuple[str, str]],
) -> None:
    ledger = Written(faults=2)
    sink = UsageSink(ledger)
    for name in "abc":
        sink.append(attempt(name))
        sink.answered(request(name.upper()))
        await sink.flush()
    assert (ledger.batches, logged) == ([(["A", "B", "C"], ["a", "b", "c"])], [FULL])
    ledger.faults = 1
    sink.append(attempt("d"))
    await sink.flush()
    await sink.close()
    assert (ledger.batches[1:], logged) == ([([], ["d"])], [FULL, FULL])


async def test_a_ledger_that_is_well_again_is_found_out_without_another_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", 0.0)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "BATCH", 2)
    ledger = Written(faults=3)
    sink = UsageSink(ledger)
    for name in "abcde":
        sink.append(attempt(name))
    await eventually(lambda: len(ledger.batches) == 3)
    assert [names for _, names in ledger.batches] == [["a", "b"], ["c", "d"], ["e"]]
    await sink.close()


async def test_records_that_the_ledger_never_takes_make_room_for_those_behind_them(
    monkeypatch: pytest.MonkeyPatch, logged: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(module, "TRIES", 3)
    monkeypatch.setattr(module, "BATCH", 1)
    ledger = Written(faults=3)
    sink = UsageSink(ledger)
    sink.append(attempt("poison"))
    sink.append(attempt("good"))
    for _ in range(3):
        await sink.flush()
    assert (ledger.batches, logged) == ([([], ["good"])], [FULL, ("usage_lost", FULL[1])])
    await sink.close()


async def test_a_mistake_in_the_writing_loses_its_records_only(logged: list[tuple[str, str]]) -> None:
    class Wrong(Written):
        async def keep_usage(self, requests: Any, attempts: Any) -> None:
            if self.faults:
                self.faults = 0
                raise OverflowError("too large")
            await super().keep_usage(requests, attempts)

    ledger = Wrong(faults=1)
    sink = UsageSink(ledger)
    for name in "ab":
        sink.append(attempt(name))
        await sink.flush()
    assert (ledger.batches, logged) == ([([], ["b"])], [("usage_lost", "OverflowError('too large')")])
    await sink.close()


async def test_closing_tries_once_more_and_says_what_is_lost(
    monkeypatch: pytest.MonkeyPatch, logged: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    ledger = Written(faults=9)
    sink = UsageSink(ledger)
    before = asyncio.all_tasks()
    sink.append(attempt("a"))
    sink.append(attempt("b"))
    await sink.close()
    assert ([event for event, _ in logged], ledger.faults) == (["usage_not_kept", "usage_lost"], 8)
    assert (ledger.batches, asyncio.all_tasks()) == ([], before)


async def test_one_batch_is_written_at_a_time_also_when_somebody_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)

    class Alone(Written):
        writing = most = 0

        async def keep_usage(self, requests: Any, attempts: Any) -> None:
            self.writing += 1
            self.most = max(self.most, self.writing)
            if len(self.batches) < 3:
                sink.append(attempt("more"))
            for _ in range(5):
                await asyncio.sleep(0)
            await super().keep_usage(requests, attempts)
            self.writing -= 1

    ledger = Alone()
    sink = UsageSink(ledger)
    sink.append(attempt("a"))
    await sink.flush()
    await eventually(lambda: len(ledger.batches) == 4)
    assert ledger.most == 1
    await sink.close()


async def test_without_a_ledger_nothing_piles_up() -> None:
    sink = UsageSink()
    sink.append(attempt("a"))
    sink.answered(request("r"))
    await sink.flush()
    assert (len(sink.records), list(sink._attempts), list(sink._requests)) == (1, [], [])


async def test_only_the_newest_records_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECENT", 2)
    monkeypatch.setattr(module, "PENDING", 3)
    ledger = Written()
    sink = UsageSink(ledger)
    for name in "abcd":
        sink.append(attempt(name))
    ledger.faults = 1
    await sink.flush()
    assert ([each.response_id for each in sink.records], ledger.batches) == (["c", "d"], [])
    sink.append(attempt("e"))
    await sink.close()
    assert ledger.batches == [([], ["c", "d", "e"])]
