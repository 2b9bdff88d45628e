"""Order: items show themselves to a client in their order.

An item of which nothing may be shown yet (a call that is still to be judged) keeps those behind it waiting, and so
does a call that the proxy itself runs until it has ended: what waits behind one of those is bounded. Clients take an
item by its place in the list, the SDKs even fail on one that comes too early, and they run calls in the order in which
they end.
"""

from __future__ import annotations

import re
from math import inf

import orjson

from translators.events import Deltas, Run, StreamEvent
from translators.failure import Failure

INDEX = re.compile(rb'"output_index": ?(\d{1,9})(?=[,}])')
"""The place of the item in the bytes of one event."""


class Order:
    """Which items of one response are unseen, and what waits for them: up to ``limit`` bytes behind a gate."""

    def __init__(self, limit: int = 256 << 10) -> None:
        self._limit = limit
        self._unseen: set[int] = set()
        self._behind: dict[float, list[StreamEvent]] = {}
        self._gates: set[int] = set()
        self._waiting = 0

    @property
    def first_unseen(self) -> float:
        """The index of the first item that has shown nothing yet; infinite when there is none."""
        return min(self._unseen, default=inf)

    def hide(self, index: int) -> None:
        """An item began without an event."""
        self._unseen.add(index)

    def gate(self, index: int) -> None:
        """This unseen item is one that the proxy runs."""
        self._gates.add(index)

    def is_first(self, index: int) -> bool:
        """Whether everything before this unseen item was shown: its first events may leave past ``take``."""
        return index == self.first_unseen

    def pass_on(self, index: int, events: list[StreamEvent]) -> list[StreamEvent]:
        """All the rest of an unseen item at once, and what waited behind it; nothing while others are before it."""
        if not self.is_first(index):
            return self.take(events)
        self._behind.setdefault(index, [])
        return [*events, *self._shown()]

    def clear(self) -> None:
        """Nobody is unseen and nothing waits any more."""
        self._unseen.clear()
        self._behind.clear()
        self._gates.clear()
        self._waiting = 0

    def take(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """The events that may leave now, what waited for them included. The first event of an unseen item shows it;
        behind a gate an event of no item goes last. Raises Failure ``upstream_too_large`` when too much waits there."""
        if not self._unseen:
            return events
        out: list[StreamEvent] = []
        for event in events:
            index: float = _index_of(event)
            first = self.first_unseen
            if index < 0 and self._gates:
                index = inf
            if index < first:
                out.append(event)
                continue
            self._behind.setdefault(index, []).append(event)
            if index == first:
                out += self._shown()
            elif self._gates and index > min(self._gates):
                self._waits(event)
        return out

    def _waits(self, event: StreamEvent) -> None:
        self._waiting += _size(event)
        if self._waiting > self._limit:
            text = f"More than limits.deferred ({self._limit:,} bytes) came behind a tool call that the proxy runs."
            raise Failure("upstream_too_large", text)

    def _shown(self) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for index in sorted(self._behind):
            if index > self.first_unseen:
                break
            if index != inf:
                self._unseen.discard(int(index))
                self._gates.discard(int(index))
            out += self._behind.pop(index)
        if not self._gates:
            self._waiting = 0
        return out


def _size(event: StreamEvent) -> int:
    """About the bytes that a client would have got."""
    if isinstance(event, Run):
        return len(event.block)
    if isinstance(event, Deltas):
        return sum(map(len, event.texts)) + 128 * len(event.texts)
    return len(orjson.dumps(event.body, default=str))


def _index_of(event: StreamEvent) -> int:
    """The item that an event belongs to; -1 for an event of none."""
    if isinstance(event, Deltas):
        return event.output_index
    if isinstance(event, Run):
        match = INDEX.search(event.block)
        return int(match[1]) if match else -1
    index = event.body.get("output_index")
    return index if isinstance(index, int) else -1
