"""UsageSink: takes records in memory before the terminal event goes out and hands them on afterwards."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from agentic_proxy.usage.record import UsageRecord

KEPT = 10_000


class UsageSink:
    """Appending never waits and never fails. ``writer`` receives the records on ``flush``; the newest 10,000 are kept
    for readers inside the process."""

    def __init__(self, writer: Callable[[list[UsageRecord]], None] | None = None) -> None:
        self.records: deque[UsageRecord] = deque(maxlen=KEPT)
        self.repairs: Counter[tuple[str, str, str]] = Counter()
        """Repairs of tool calls by (provider, upstream model, rule id)."""
        self._writer = writer
        self._pending: list[UsageRecord] = []

    def append(self, record: UsageRecord) -> None:
        """Take one record."""
        self.records.append(record)
        for rule in record.repairs:
            self.repairs[record.provider, record.upstream_model, rule] += 1
        if self._writer is not None:
            self._pending.append(record)

    def flush(self) -> None:
        """Hand what is pending to the writer."""
        if self._writer is not None and self._pending:
            pending, self._pending = self._pending, []
            self._writer(pending)
