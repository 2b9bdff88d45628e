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
from translators.failure import Failure


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
ANNOTATION = "response.output_text.annotation.added"

PARTS = 1024
"""More parts than that in one item are no model's answer."""


def family_of(part: object) -> Family | None:
    """The events around a content or summary part, by its type."""
    kind = part.get("type") if isinstance(part, dict) else None
    return BY_PART.get(kind) if isinstance(kind, str) else None


def split_run(run: Run) -> list[Deltas]:
    """Parse a run of raw frames into decoded deltas; consecutive deltas of one part stand together.

    Fields other than the delta itself (obfuscation, logprobs) are lost, so this is only for runs that must change.
    Raises Failure ``upstream_invalid_response`` for a frame that is no delta event.
    """
    out: list[Deltas] = []
    part_field = PART_FIELD.get(run.kind)
    for frame in run.block.split(b"\n\n"):
        if not frame:
            continue
        item, index, part, text = _delta_of(frame, part_field)
        last = out[-1] if out else None
        if last and last.item_id == item and last.output_index == index and last.part == part:
            last.texts.append(text)
        else:
            out.append(Deltas(run.kind, item, index, part, [text]))
    return out


def _delta_of(frame: bytes, part_field: str | None) -> tuple[str, int, int | None, str]:
    try:
        body = orjson.loads(frame[frame.index(b"data: ") + 6 :])
        item, index, text = body.get("item_id"), body.get("output_index", -1), body["delta"]
        part = body.get(part_field) if part_field else None
    except (ValueError, KeyError, AttributeError) as error:
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not valid JSON.") from error
    if not isinstance(text, str) or not isinstance(index, int):
        raise Failure("upstream_invalid_response", "The upstream sent a delta that is not a string.")
    if part_field and (not isinstance(part, int) or part < 0):
        part = 0
    return item if isinstance(item, str) else "", index, part, text


class OpenItem:
    """Base and plain form: an item of a kind the proxy does not interpret; its events pass, ``done`` as it came.

    ``index`` is the public output_index, ``id`` the public item id, ``item`` the public item (final after ``finish``).
    ``pieces`` keeps what was streamed until the item is finished; ``holds`` marks kinds that a client executes;
    ``refused`` says why a call must not be released, once that is known.
    """

    raw_kinds: frozenset[str] = frozenset()
    """The delta kinds whose raw runs may pass untouched; runs of others are decoded before they reach the item."""
    holds = False

    @property
    def later(self) -> bool:
        """Whether it is a good call whose output need not come before the model goes on."""
        return False

    def __init__(self, item: Json, index: int) -> None:
        self.item = item
        self.index = index
        self.id: str = item["id"]
        self.pieces: list[Deltas | Run] = []
        self.refused: Failure | None = None

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
        if "item_id" in event.body:
            event.body["item_id"] = self.id
        return [event]

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        """Close the item: ``item`` is the upstream's final one, or None to close with what was streamed."""
        if item is not None:
            self.item = {**item, "type": self.item.get("type"), "id": self.id}
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


@dataclass(slots=True)
class _Part:
    family: Family
    opened: bool = False
    streamed: bool = False
    text: str | None = None
    part: Json | None = None
    text_done: bool = False
    part_done: bool = False
    annotations: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class _Parts:
    by_key: dict[tuple[str, int], _Part] = field(default_factory=dict)

    def get(self, family: Family, index: int) -> _Part:
        key = (family.container, index)
        part = self.by_key.get(key)
        if part is None:
            if index >= PARTS:
                raise Failure("upstream_invalid_response", f"The upstream sent an item of more than {PARTS} parts.")
            part = self.by_key[key] = _Part(family)
        return part


_DEFAULTS: dict[str, Json] = {
    "message": {"type": "message", "role": "assistant", "status": "in_progress", "content": []},
    "reasoning": {"summary": []},
}


class TextItem(OpenItem):
    """A message or a reasoning item: parts of text, each with its own added, delta and done events."""

    raw_kinds = frozenset(BY_DELTA)

    def __init__(self, item: Json, index: int) -> None:
        defaults = _DEFAULTS["reasoning" if item.get("type") == "reasoning" else "message"]
        super().__init__({**item, **{key: value for key, value in defaults.items() if item.get(key) is None}}, index)
        self._parts = _Parts()

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        return [*self._streaming(deltas.kind, deltas.part or 0), *super().deltas(deltas)]

    def run(self, run: Run, part: int | None) -> list[StreamEvent]:
        return [*self._streaming(run.kind, part or 0), *super().run(run, part)]

    def event(self, event: Event) -> list[StreamEvent]:
        family = BY_TEXT_DONE.get(event.kind)
        if family is not None:
            return self._on_text_done(event, family)
        family = family_of(event.body.get("part"))
        if family is not None and event.kind == family.added:
            return self._on_added(event, family)
        if family is not None and event.kind == family.part_done:
            return self._on_part_done(event, family)
        if event.kind == ANNOTATION and isinstance(event.body.get("annotation"), dict):
            index = self._place(event, BY_PART["output_text"])
            opening = self._open(BY_PART["output_text"], index)
            self._parts.get(BY_PART["output_text"], index).annotations.append(event.body["annotation"])
            return [*opening, event]
        return super().event(event)

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        given = {key: value for key, value in (item or {}).items() if value is not None}
        final = {**self.item, "status": status, **given, "type": self.item["type"], "id": self.id}
        if final["type"] == "reasoning" and "status" not in given:
            final.pop("status", None)
        out: list[StreamEvent] = []
        for container in ("summary", "content"):
            parts = _given_parts(given.get(container))
            seen = [index for name, index in self._parts.by_key if name == container]
            for index in range(len(parts), max(seen, default=-1) + 1):
                parts.append(self._rebuilt(container, index))
            for index, part in enumerate(parts):
                family = family_of(part)
                if family is not None and family.container == container:
                    parts[index] = _filled(part, family)
                    out += self._close_part(family, index, parts[index])
            if parts or container in final:
                final[container] = parts
        self.item = final
        return [*out, self.done()]

    def _place(self, event: Event, family: Family) -> int:
        """The part an event is about; ids and indices that an upstream left out are filled in."""
        body, field_name = event.body, PART_FIELD[family.delta] or "content_index"
        index = body.get(field_name)
        body[field_name] = index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else 0
        body["item_id"] = self.id
        return int(body[field_name])

    def _on_added(self, event: Event, family: Family) -> list[StreamEvent]:
        part = self._parts.get(family, self._place(event, family))
        if part.opened:
            return []
        part.opened, part.family = True, family
        event.body["part"] = _filled(event.body["part"], family)
        return [event]

    def _on_text_done(self, event: Event, family: Family) -> list[StreamEvent]:
        body, index = event.body, self._place(event, family)
        part = self._parts.get(family, index)
        if part.text_done:
            return []
        text = body.get(family.text_field)
        body[family.text_field] = text if isinstance(text, str) else self.streamed(family.delta, index)
        if family.part_type == "output_text":
            body.setdefault("logprobs", [])
        before = self._before_done(family, index, body[family.text_field])
        part.text, part.text_done = body[family.text_field], True
        return [*before, event]

    def _on_part_done(self, event: Event, family: Family) -> list[StreamEvent]:
        index = self._place(event, family)
        part = self._parts.get(family, index)
        if part.part_done:
            return []
        given = event.body["part"] = _filled(event.body["part"], family)
        before = self._end_text(family, index, given)
        part.part, part.part_done = given, True
        return [*before, event]

    def _streaming(self, kind: str, index: int) -> list[StreamEvent]:
        family = BY_DELTA.get(kind)
        if family is None:
            return []
        self._parts.get(family, index).streamed = True
        return self._open(family, index)

    def _open(self, family: Family, index: int) -> list[StreamEvent]:
        """The part's added event, if the upstream left it out."""
        part = self._parts.get(family, index)
        if part.opened:
            return []
        part.opened = True
        return [self._made(family.added, family, index, {"part": _make_part(family, "")})]

    def _before_done(self, family: Family, index: int, text: str) -> list[StreamEvent]:
        """Clients that show text only from deltas get one where nothing was streamed."""
        part = self._parts.get(family, index)
        opening = self._open(family, index)
        if part.streamed or part.text_done or not text:
            return opening
        part.streamed = True
        return [*opening, Deltas(family.delta, self.id, self.index, index, [text])]

    def _end_text(self, family: Family, index: int, given: Json) -> list[StreamEvent]:
        """What goes before a part's done event: the text's done event, if the upstream left it out."""
        part = self._parts.get(family, index)
        if part.text_done:
            return []
        text = given[family.text_field]
        out = self._before_done(family, index, text)
        extra: Json = {family.text_field: text}
        if family.part_type == "output_text":
            extra["logprobs"] = given["logprobs"]
        part.text, part.text_done = text, True
        return [*out, self._made(family.text_done, family, index, extra)]

    def _close_part(self, family: Family, index: int, given: Json) -> list[StreamEvent]:
        """The events of one part that the upstream left out, in their order."""
        part = self._parts.get(family, index)
        if part.part_done:
            return []
        part.part_done = True
        return [
            *self._end_text(family, index, given),
            self._made(family.part_done, family, index, {"part": given}),
        ]

    def _made(self, kind: str, family: Family, index: int, extra: Json) -> Event:
        index_field = PART_FIELD[family.delta] or "content_index"
        return Event(kind, {"item_id": self.id, "output_index": self.index, index_field: index, **extra})

    def _rebuilt(self, container: str, index: int) -> Json:
        part = self._parts.by_key.get((container, index))
        if part is None:
            return _make_part(BY_PART["output_text" if container == "content" else "summary_text"], "")
        if part.part is not None:
            return part.part
        text = part.text if part.text is not None else self.streamed(part.family.delta, index)
        made = _make_part(part.family, text)
        if part.annotations:
            made["annotations"] = part.annotations
        return made


def _given_parts(given: object) -> list[Json]:
    """The parts of a final item; some upstreams send a bare string where a list belongs."""
    if isinstance(given, str):
        return [{"type": "output_text", "text": given}] if given else []
    return [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []


def _filled(part: Json, family: Family) -> Json:
    """The part with the keys that its type always has."""
    usual = _make_part(family, "")
    missing = {key: value for key, value in usual.items() if not isinstance(part.get(key), type(value))}
    return {**part, **missing} if missing else part


def _make_part(family: Family, text: str) -> Json:
    part: Json = {"type": family.part_type, family.text_field: text}
    if family.part_type == "output_text":
        part["annotations"] = []
        part["logprobs"] = []
    return part
