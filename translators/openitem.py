"""OpenItem: one output item between its ``added`` and its ``done`` event.

An upstream may leave out any event in between, and one that speaks another format leaves out nearly all. Each kind of
item knows the full order of its events (public documentation of the Responses API) and adds those that are missing, so
that a client always sees: added, parts with deltas, the done events of the parts, done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from translators.events import PART_FIELD, Deltas, Event, Json, Run, StreamEvent


class Family(NamedTuple):
    """The events around one kind of text part. ``container`` is the item's list that holds such parts."""

    part_type: str
    text_field: str
    container: str
    added: str
    delta: str
    text_done: str
    part_done: str


_FAMILIES = (
    Family("output_text", "text", "content", "response.content_part.added", "response.output_text.delta",
           "response.output_text.done", "response.content_part.done"),
    Family("refusal", "refusal", "content", "response.content_part.added", "response.refusal.delta",
           "response.refusal.done", "response.content_part.done"),
    Family("reasoning_text", "text", "content", "response.content_part.added", "response.reasoning_text.delta",
           "response.reasoning_text.done", "response.content_part.done"),
    Family("summary_text", "text", "summary", "response.reasoning_summary_part.added",
           "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done",
           "response.reasoning_summary_part.done"),
)  # fmt: skip
BY_DELTA = {family.delta: family for family in _FAMILIES}
BY_TEXT_DONE = {family.text_done: family for family in _FAMILIES}
BY_PART = {family.part_type: family for family in _FAMILIES}
PART_ADDED = frozenset(family.added for family in _FAMILIES)
PART_DONE = frozenset(family.part_done for family in _FAMILIES)


def split_run(run: Run) -> list[Deltas]:
    """Parse a run of raw frames into decoded deltas; consecutive deltas of one part stand together.

    Fields other than the delta itself (obfuscation, logprobs) are lost, so this is only for runs that must change.
    """
    out: list[Deltas] = []
    part_field = PART_FIELD.get(run.kind)
    for frame in run.block.split(b"\n\n"):
        if not frame:
            continue
        body = orjson.loads(frame[frame.index(b"data: ") + 6 :])
        item, index = body.get("item_id") or "", body.get("output_index", -1)
        part = body.get(part_field, 0) if part_field else None
        last = out[-1] if out else None
        if last and last.item_id == item and last.output_index == index and last.part == part:
            last.texts.append(body["delta"])
        else:
            out.append(Deltas(run.kind, item, index, part, [body["delta"]]))
    return out


class OpenItem:
    """Base and plain form: an item of a kind the proxy does not interpret; its events pass, ``done`` as it came.

    ``index`` is the public output_index, ``id`` the public item id, ``item`` the public item (final after ``finish``).
    ``pieces`` keeps what was streamed until the item is finished; ``holds`` marks kinds that a client executes.
    """

    raw_kinds: frozenset[str] = frozenset()
    """The delta kinds whose raw runs may pass untouched; runs of others are decoded before they reach the item."""
    holds = False

    def __init__(self, item: Json, index: int) -> None:
        self.item = item
        self.index = index
        self.id: str = item["id"]
        self.pieces: list[Deltas | Run] = []

    def added(self) -> list[StreamEvent]:
        """The event that opens this item."""
        return [Event("response.output_item.added", {"output_index": self.index, "item": self.item})]

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        """Take decoded deltas of this item; returns what the client sees of them."""
        self.pieces.append(deltas)
        return [Deltas(deltas.kind, self.id, self.index, deltas.part, deltas.texts)]

    def run(self, run: Run, part: int | None) -> list[StreamEvent]:
        """Take raw deltas of one of ``raw_kinds``; they pass untouched."""
        self.pieces.append(run)
        return [run]

    def event(self, event: Event) -> list[StreamEvent]:
        """Take any other event that names this item."""
        event.body["item_id"] = self.id
        return [event]

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        """Close the item: ``item`` is the upstream's final one, or None to close with what was streamed."""
        if item is not None:
            self.item = {**item, "id": self.id}
        elif "status" in self.item:
            self.item = {**self.item, "status": status}
        return [self.done()]

    def done(self) -> Event:
        """The event that ends this item, held for kinds that a client executes."""
        return Event("response.output_item.done", {"output_index": self.index, "item": self.item}, held=self.holds)

    def streamed(self, kind: str, part: int | None) -> str:
        """The text that was streamed for one part so far. Parses raw runs: call it only when an event is missing."""
        texts: list[str] = []
        for piece in self.pieces:
            if piece.kind != kind:
                continue
            for deltas in split_run(piece) if isinstance(piece, Run) else (piece,):
                if deltas.part == part:
                    texts += deltas.texts
        return "".join(texts)


class ClientCallItem(OpenItem):
    """A call in a form of its own (local_shell_call, computer_call, ...) that the client executes: done is held."""

    holds = True


@dataclass(slots=True)
class _Part:
    family: Family
    opened: bool = False
    streamed: bool = False
    text: str | None = None
    part: Json | None = None
    text_done: bool = False
    part_done: bool = False


@dataclass(slots=True)
class _Parts:
    by_key: dict[tuple[str, int], _Part] = field(default_factory=dict)

    def get(self, family: Family, index: int) -> _Part:
        key = (family.container, index)
        part = self.by_key.get(key)
        if part is None:
            part = self.by_key[key] = _Part(family)
        return part


class TextItem(OpenItem):
    """A message or a reasoning item: parts of text, each with its own added, delta and done events."""

    raw_kinds = frozenset(BY_DELTA)

    def __init__(self, item: Json, index: int) -> None:
        super().__init__(item, index)
        self._parts = _Parts()

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        return [*self._open(BY_DELTA.get(deltas.kind), deltas.part or 0), *super().deltas(deltas)]

    def run(self, run: Run, part: int | None) -> list[StreamEvent]:
        return [*self._open(BY_DELTA.get(run.kind), part or 0), *super().run(run, part)]

    def event(self, event: Event) -> list[StreamEvent]:
        body = event.body
        given_index = body.get("content_index", body.get("summary_index"))
        index = given_index if isinstance(given_index, int) else 0
        if event.kind in PART_ADDED or event.kind in PART_DONE:
            given = body.get("part") or {}
            family = BY_PART.get(given.get("type", ""))
            if family is not None:
                part = self._parts.get(family, index)
                if event.kind in PART_ADDED:
                    part.opened, part.family = True, family
                    return super().event(event)
                opening = self._open(family, index)
                part.part, part.part_done = given, True
                return [*opening, *super().event(event)]
        family = BY_TEXT_DONE.get(event.kind)
        if family is not None:
            opening = self._open(family, index)
            part = self._parts.get(family, index)
            part.text, part.text_done = body.get(family.text_field), True
            return [*opening, *super().event(event)]
        return super().event(event)

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        final = {**self.item, "status": status, **(item or {}), "id": self.id}
        if final.get("type") == "reasoning" and (item is None or "status" not in item):
            final.pop("status", None)
        out: list[StreamEvent] = []
        for container in ("summary", "content"):
            parts = list(final.get(container) or []) if item is not None else []
            seen = [index for name, index in self._parts.by_key if name == container]
            for index in range(len(parts), max(seen, default=-1) + 1):
                parts.append(self._rebuilt(container, index))
            for index, part in enumerate(parts):
                out += self._complete(container, index, part)
            if parts or container in final:
                final[container] = parts
        self.item = final
        return [*out, self.done()]

    def _open(self, family: Family | None, index: int) -> list[StreamEvent]:
        """The part's added event, if the upstream left it out."""
        if family is None:
            return []
        part = self._parts.get(family, index)
        part.streamed = True
        if part.opened:
            return []
        part.opened = True
        return [self._part_event(family.added, family, index, {"part": _make_part(family, "")})]

    def _part_event(self, kind: str, family: Family, index: int, extra: Json) -> Event:
        index_field = PART_FIELD[family.delta] or "content_index"
        return Event(kind, {"item_id": self.id, "output_index": self.index, index_field: index, **extra})

    def _rebuilt(self, container: str, index: int) -> Json:
        part = self._parts.by_key.get((container, index))
        if part is None:
            return _make_part(BY_PART["output_text" if container == "content" else "summary_text"], "")
        if part.part is not None:
            return part.part
        text = part.text if part.text is not None else self.streamed(part.family.delta, index)
        return _make_part(part.family, text)

    def _complete(self, container: str, index: int, given: Json) -> list[StreamEvent]:
        """The events of one part that the upstream left out, in their order."""
        family = BY_PART.get(given.get("type", ""))
        if family is None or family.container != container:
            return []
        part = self._parts.get(family, index)
        text = given.get(family.text_field) or ""
        out: list[StreamEvent] = []
        if not part.streamed:
            out += self._open(family, index)
            if text and not part.text_done:
                out.append(Deltas(family.delta, self.id, self.index, index, [text]))
        if not part.text_done:
            extra: Json = {family.text_field: text}
            if family.part_type == "output_text":
                extra["logprobs"] = given.get("logprobs") or []
            out.append(self._part_event(family.text_done, family, index, extra))
        if not part.part_done:
            out.append(self._part_event(family.part_done, family, index, {"part": given}))
        return out


def _make_part(family: Family, text: str) -> Json:
    part: Json = {"type": family.part_type, family.text_field: text}
    if family.part_type == "output_text":
        part["annotations"] = []
        part["logprobs"] = []
    return part
