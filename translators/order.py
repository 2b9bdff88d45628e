"""Order: items show themselves to a client in their order.

An item of which nothing may be shown yet (a call that is still to be judged) keeps those behind it waiting. Clients
take an item by its place in the list, the SDKs even fail on one that comes too early, and they run calls in the order
in which they end.
"""

from __future__ import annotations

import re
from math import inf

from translators.events import Deltas, Run, StreamEvent

INDEX = re.compile(rb'"output_index": ?(\d{1,9})(?=[,}])')
"""The place of the item in the bytes of one event."""


class Order:
    """Which items of one response are unseen, and what waits for them."""

    def __init__(self) -> None:
        self._unseen: set[int] = set()
        self._behind: dict[int, list[StreamEvent]] = {}

    @property
    def first_unseen(self) -> float:
        """The index of the first item that has shown nothing yet; infinite when there is none."""
        return min(self._unseen, default=inf)

    def hide(self, index: int) -> None:
        """An item began without an event."""
        self._unseen.add(index)

    def clear(self) -> None:
        """Nobody is unseen and nothing waits any more."""
        self._unseen.clear()
        self._behind.clear()

    def take(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """The events that may leave now, what waited for them included. The first event of an unseen item shows it."""
        if not self._unseen:
            return events
        out: list[StreamEvent] = []
        for event in events:
            index, first = _index_of(event), self.first_unseen
            if index < first:
                out.append(event)
                continue
            self._behind.setdefault(index, []).append(event)
            if index == first:
                out += self._shown()
        return out

    def _shown(self) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for index in sorted(self._behind):
            if index > self.first_unseen:
                break
            self._unseen.discard(index)
            out += self._behind.pop(index)
        return out


def _index_of(event: StreamEvent) -> int:
    """The item that an event belongs to; -1 for an event of none."""
    if isinstance(event, Deltas):
        return event.output_index
    if isinstance(event, Run):
        match = INDEX.search(event.block)
        return int(match[1]) if match else -1
    index = event.body.get("output_index")
    return index if isinstance(index, int) else -1
