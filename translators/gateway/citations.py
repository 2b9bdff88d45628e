"""CitedText: a message whose ``[n]`` become ``url_citation`` annotations.

As recorded from the real API, an annotation is an event of its own behind the delta that completes the cited text; its
indices count code points from the start of the whole part, the end is exclusive, and the final part repeats them all.
"""

from __future__ import annotations

import re

from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.gateway.search import Sources
from translators.openitem import ANNOTATION, BY_DELTA, TextItem, split_run

__all__ = ["CitedText"]

TEXT = "response.output_text.delta"
PART_DONE = "response.content_part.done"
ITEM_DONE = "response.output_item.done"
_CITATION = re.compile(r"\[(\d{1,4})\]")
_OPEN = 6
"""Characters of the longest citation: what of the last text may still become one."""
_FENCE = "```"


class _Text:
    """One part: its text so far, and how far citations were looked for."""

    def __init__(self) -> None:
        self.text = ""
        self.read = 0
        self.annotations: list[Json] = []


class CitedText(TextItem):
    """A message of a model that was given ``sources``."""

    raw_kinds = frozenset(BY_DELTA) - {TEXT}

    def __init__(self, item: Json, index: int, sources: Sources) -> None:
        super().__init__(item, index)
        self._sources = sources
        self._texts: dict[int, _Text] = {}

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        return self._cited(super().deltas(deltas))

    def event(self, event: Event) -> list[StreamEvent]:
        return self._cited(super().event(event))

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        return self._cited(super().finish(item, status))

    def _cited(self, events: list[StreamEvent]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for event in events:
            if isinstance(event, Run) and event.kind == TEXT:
                for deltas in split_run(event):
                    out += self._read(deltas)
            elif isinstance(event, Deltas) and event.kind == TEXT:
                out += self._read(event)
            else:
                out.append(self._completed(event))
        return out

    def _read(self, deltas: Deltas) -> list[StreamEvent]:
        """The deltas, each followed by the annotations that it completes."""
        part = deltas.part or 0
        text = self._texts.setdefault(part, _Text())
        out: list[StreamEvent] = []
        waiting: list[str] = []
        for piece in deltas.texts:
            waiting.append(piece)
            text.text += piece
            if "]" in piece and (found := self._found(text)):
                out.append(Deltas(TEXT, self.id, self.index, deltas.part, waiting))
                out += [self._annotation(part, text, each) for each in found]
                waiting = []
        if waiting:
            out.append(Deltas(TEXT, self.id, self.index, deltas.part, waiting))
        return out

    def _found(self, text: _Text) -> list[Json]:
        found: list[Json] = []
        for match in _CITATION.finditer(text.text, text.read):
            result = self._sources.get(int(match[1]))
            text.read = match.end()
            if result is None or text.text.count(_FENCE, 0, match.start()) % 2:
                continue  # no result of ours, or an index in a program
            place = {"start_index": match.start(), "end_index": match.end()}
            found.append({"type": "url_citation", **place, "url": result.url, "title": result.title})
        text.read = max(text.read, len(text.text) - _OPEN)
        return found

    def _annotation(self, part: int, text: _Text, annotation: Json) -> Event:
        text.annotations.append(annotation)
        place = {"item_id": self.id, "output_index": self.index, "content_index": part}
        number = len(text.annotations) - 1
        return Event(ANNOTATION, {**place, "annotation_index": number, "annotation": annotation})

    def _completed(self, event: StreamEvent) -> StreamEvent:
        """The final part and the final item repeat the annotations."""
        if isinstance(event, Event) and event.kind == PART_DONE:
            self._annotate(event.body["part"], event.body.get("content_index", 0))
        elif isinstance(event, Event) and event.kind == ITEM_DONE:
            for index, part in enumerate(event.body["item"].get("content") or []):
                self._annotate(part, index)
        return event

    def _annotate(self, part: Json, index: int) -> None:
        text = self._texts.get(index)
        if text is not None and text.annotations and part.get("type") == "output_text":
            given = part.get("annotations") or []
            part["annotations"] = [*given, *(each for each in text.annotations if each not in given)]
