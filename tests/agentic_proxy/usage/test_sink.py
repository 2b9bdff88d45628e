"""The usage sink takes records at once and hands each on exactly once."""

from __future__ import annotations

import pytest

from agentic_proxy.usage import sink as module
from agentic_proxy.usage.record import UsageRecord
from agentic_proxy.usage.sink import UsageSink


def record(name: str) -> UsageRecord:
    return UsageRecord(0.0, name, "responses", "m", "up", "m", 0.1, None)


def test_records_are_readable_at_once_and_written_on_flush_once() -> None:
    written: list[list[UsageRecord]] = []
    sink = UsageSink(written.append)
    sink.append(record("a"))
    sink.append(record("b"))
    assert ([each.response_id for each in sink.records], written) == (["a", "b"], [])
    sink.flush()
    sink.flush()
    sink.append(record("c"))
    sink.flush()
    assert [[each.response_id for each in batch] for batch in written] == [["a", "b"], ["c"]]


def test_without_a_writer_nothing_piles_up() -> None:
    sink = UsageSink()
    sink.append(record("a"))
    sink.flush()
    assert (len(sink.records), sink._pending) == (1, [])


def test_only_the_newest_records_are_kept_for_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    sink = UsageSink()
    for name in "abc":
        sink.append(record(name))
    assert [each.response_id for each in sink.records] == ["b", "c"]
