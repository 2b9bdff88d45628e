"""Emitter: writes the hub events of one Chat upstream response, counting output indices and merging deltas."""

from __future__ import annotations

from translators.events import Deltas, Event, Json, StreamEvent
from translators.items import item_id
from translators.openitem import ANNOTATION

ADDED = "response.output_item.added"
DONE = "response.output_item.done"


class Emitter:
    """Collects events until ``take``. ``next_index`` is the output_index of the next item."""

    def __init__(self, suffix: str, first_index: int) -> None:
        self.suffix = suffix
        self.next_index = first_index
        self._first_index = first_index
        self._out: list[StreamEvent] = []
        self._last: Deltas | None = None

    @property
    def started(self) -> bool:
        """Whether any item was opened."""
        return self.next_index > self._first_index

    def take(self) -> list[StreamEvent]:
        """The events since the last call."""
        out = self._out
        self._out = []
        self._last = None
        return out

    def run_of(self, kind: str) -> list[str] | None:
        """The texts of the newest event when it is a ``Deltas`` of ``kind``: more of that part may be appended."""
        last = self._last
        return last.texts if last is not None and last.kind == kind else None

    def open(self, item: Json) -> tuple[int, str]:
        """Begin an item (without ``id``); returns its output_index and id."""
        index = self.next_index
        self.next_index += 1
        identity = item_id(item["type"], self.suffix, index)
        body = {"type": ADDED, "output_index": index, "item": {"id": identity, **item}}
        self._out.append(Event(ADDED, body))
        self._last = None
        return index, identity

    def delta(self, kind: str, identity: str, index: int, part: int | None, text: str) -> None:
        """One piece of text; adjacent pieces of one part share a ``Deltas``. Empty texts are not written."""
        if not text:
            return
        last = self._last
        if last is not None and last.output_index == index and last.kind == kind and last.part == part:
            last.texts.append(text)
            return
        self._last = Deltas(kind, identity, index, part, [text])
        self._out.append(self._last)

    def annotation(self, identity: str, index: int, part: int, number: int, annotation: Json) -> None:
        """What a text was drawn from; ``number`` counts those of its part."""
        place = {"item_id": identity, "output_index": index, "content_index": part}
        self._out.append(Event(ANNOTATION, {**place, "annotation_index": number, "annotation": annotation}))
        self._last = None

    def done(self, index: int, item: Json | None = None) -> None:
        """Close an item with what was streamed, and with what ``item`` says beside it."""
        final = {} if item is None else {"item": item}
        self._out.append(Event(DONE, {"type": DONE, "output_index": index, **final}))
        self._last = None
