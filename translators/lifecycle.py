"""Lifecycle: one created, one in_progress, one terminal; public sequence numbers; the held release of tool calls.

    new -- open() --> open -- close() / fail() --> closed

Events pass while the response is open. Held events wait for ``close``, are dropped by ``fail``, and nothing passes
after either. Numbers count 0..n over everything that leaves, whatever an upstream numbered.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TypeAlias

from translators.events import Event, Json, StreamEvent
from translators.failure import Failure
from translators.items import PublicResponse
from translators.relay import HEAD

Numbered: TypeAlias = tuple[int, StreamEvent]
"""A public sequence number (of the first event, for runs and deltas) and what carries it."""


class Lifecycle:
    """The order of one public response. Pure bookkeeping: it returns what may leave now, it writes nothing."""

    def __init__(self, public: PublicResponse) -> None:
        self.public = public
        self.opened = False
        self.closed = False
        self.content = False
        """Whether anything but lifecycle events has left: from then on no other attempt may take over."""
        self._next = 0
        self._mark = (0, False)
        self._held: list[Event] = []
        self._left: dict[int, Json] = {}

    def open(self) -> list[Numbered]:
        """``response.created`` and ``response.in_progress``, the first time only."""
        if self.opened:
            return []
        self.opened = True
        snapshot = self.public.snapshot()
        opening = [Event(kind, {"response": snapshot}) for kind in ("response.created", "response.in_progress")]
        if self.public.background:
            queued = self.public.snapshot("queued")
            opening[:1] = [Event(kind, {"response": queued}) for kind in ("response.created", "response.queued")]
        return self._number(opening)

    def take(self, events: list[StreamEvent]) -> list[Numbered]:
        """Let events pass; held ones stay behind until ``close``."""
        if self.closed or not events:
            return []
        opening = self.open()
        if any(isinstance(event, Event) and event.held for event in events):
            passing: list[StreamEvent] = []
            for event in events:
                if isinstance(event, Event) and event.held:
                    self._held.append(event)
                else:
                    passing.append(event)
            events = passing
        self.content = self.content or any(event.kind != HEAD for event in events)
        for event in events:
            if isinstance(event, Event) and event.kind == "response.output_item.done":
                self._left[event.body["output_index"]] = event.body["item"]
        return opening + self._number(events)

    def keepalive(self) -> list[Numbered]:
        """The filler that resets Codex's idle timer (measured: comments do not); only on an open response."""
        if self.closed or not self.opened:
            return []
        return self._number([Event("keepalive", {})])

    def close(self, kind: str, response: Json) -> list[Numbered]:
        """Release what was held, in the order of the items, and end with the terminal event ``kind``."""
        return self._end([*sorted(self._held, key=_place), Event(kind, {"response": response})])

    def failed(self, failure: Failure, usage: Json | None = None) -> Json:
        """The Response object of a failure; its output are the items whose done event left."""
        error = {"code": failure.stream_code, "message": failure.message}
        output = [item for _, item in sorted(self._left.items())]
        return self.public.object(
            "failed", output, usage=usage, error=error, incomplete_reason=failure.incomplete_reason
        )

    def fail(self, failure: Failure, usage: Json | None = None) -> list[Numbered]:
        """Drop what was held and end with one ``response.failed``."""
        return self._end([Event("response.failed", {"response": self.failed(failure, usage)})])

    def reopen(self) -> None:
        """Take back an end whose bytes never left, so that ``fail`` can end the response instead."""
        if self.closed:
            self.closed = False
            self._next, self.opened = self._mark

    def _end(self, events: list[StreamEvent]) -> list[Numbered]:
        if self.closed:
            return []
        self._mark = (self._next, self.opened)
        opening = self.open()
        self.closed = True
        self._held = []
        return opening + self._number(events)

    def _number(self, events: Iterable[StreamEvent]) -> list[Numbered]:
        numbered: list[Numbered] = []
        number = self._next
        for event in events:
            numbered.append((number, event))
            number += event.count
        self._next = number
        return numbered


def _place(held: Event) -> float:
    """A client runs calls in the order in which they end: that of the items, whenever each was judged."""
    index = held.body.get("output_index")
    return index if isinstance(index, int) else inf
