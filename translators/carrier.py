"""Carrier: a decoder around an upstream's decoder that packs up what the model will need of its reasoning.

It sees each event on its way to the client. A reasoning item gets its envelope when it is done; what came later, or
without any reasoning item (signatures of calls), gets an item of its own at the close. What belongs to a call is also
handed to ``remember``, for clients that replay calls and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from translators.envelope import is_ours
from translators.events import Deltas, Event, Json, StreamEvent
from translators.items import item_id
from translators.reasoning import CALLS, Origin, seal
from translators.registry import Decoder
from translators.responses.thoughts import TEXT
from translators.wrapper import DecoderWrapper

__all__ = ["Carriage", "Carrier"]

ADDED = "response.output_item.added"
DONE = "response.output_item.done"
TEXTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


@dataclass(frozen=True, slots=True)
class Carriage:
    """How one attempt's reasoning travels. ``asked``: the client wants ``encrypted_content``; ``open_``: it gets the
    upstream's own; ``chat``: the upstream has texts, details and signatures instead."""

    key: bytes
    origin: Origin
    asked: bool
    chat: bool
    open_: bool = False
    remember: Callable[[str, Json], None] | None = None


class Carrier(DecoderWrapper):
    """Wraps the decoder of one attempt. ``suffix`` and ``first_index`` as for the decoder."""

    def __init__(self, inner: Decoder, carriage: Carriage, *, suffix: str, first_index: int) -> None:
        super().__init__(inner)
        self._carriage = carriage
        self._suffix = suffix
        self._next = first_index
        self._reasoning: dict[int, list[str]] = {}
        self._texts: list[str] = []
        self._calls: list[str] = []
        self._details_sealed = 0
        self._ended = False

    def _through(self, events: list[StreamEvent]) -> list[StreamEvent]:
        for event in events:
            if isinstance(event, Deltas):
                if event.kind in TEXTS and event.output_index in self._reasoning:
                    self._reasoning[event.output_index] += event.texts
            elif isinstance(event, Event) and event.kind in (ADDED, DONE):
                self._item(event)
        close = self.closed
        if close is None or self._ended:
            return events
        self._ended = True
        for item in (close.response or {}).get("output") or []:
            if isinstance(item, dict) and item.get("type") == "reasoning":
                self._sealed(item)
        return [*events, *self._end()]

    def _item(self, event: Event) -> None:
        index, item = event.body.get("output_index"), event.body.get("item")
        if not isinstance(index, int):
            return
        self._next = max(self._next, index + 1)
        kind = item.get("type") if isinstance(item, dict) else None
        if event.kind == ADDED and kind == "reasoning":
            self._reasoning[index] = []
        elif event.kind == ADDED and kind in CALLS and isinstance(item, dict) and isinstance(item.get("call_id"), str):
            self._calls.append(item["call_id"])
        if not self._carriage.chat:
            if kind == "reasoning" and isinstance(item, dict):
                if event.kind == ADDED and not self._carriage.open_:
                    item.pop("encrypted_content", None)
                self._sealed(item)
        elif event.kind == DONE and index in self._reasoning:
            self._done(event, "".join(self._reasoning[index]))

    def _sealed(self, item: Json) -> None:
        """A Responses upstream's own encrypted content, in the form that the client gets; where it has none, its words:
        clients send those back in no other way."""
        raw = item.get("encrypted_content")
        if not raw and self._carriage.asked and not self._carriage.open_ and (text := _words(item)):
            item["encrypted_content"] = seal(self._carriage.key, self._carriage.origin, {"text": text, "form": TEXT})
            return
        if not isinstance(raw, str) or not raw or is_ours(raw):
            return
        if not self._carriage.asked:
            del item["encrypted_content"]
        elif not self._carriage.open_:
            item["encrypted_content"] = seal(self._carriage.key, self._carriage.origin, {"raw": raw})

    def _done(self, event: Event, text: str) -> None:
        self._texts += [text] if text else []
        details = self._new_details()
        if self._carriage.asked and (text or details):
            payload: Json = {"text": text, **({"details": details} if details else {})}
            sealed = seal(self._carriage.key, self._carriage.origin, payload)
            event.body["item"] = {"type": "reasoning", **(event.body.get("item") or {}), "encrypted_content": sealed}

    def _new_details(self) -> list[Json]:
        every = merged_details(getattr(self._inner, "details", []))
        details, self._details_sealed = every[self._details_sealed :], len(every)
        return details

    def _end(self) -> list[StreamEvent]:
        if not self._carriage.chat:
            return []
        late = self._new_details()
        extras: dict[str, Json] = getattr(self._inner, "extras", {})
        every = merged_details(getattr(self._inner, "details", []))
        if self._carriage.remember is not None and (self._texts or extras or every):
            for call_id in self._calls:
                calls = {call_id: extras[call_id]} if call_id in extras else {}
                self._carriage.remember(call_id, {"text": "\n\n".join(self._texts), "details": every, "calls": calls})
        if not (self._carriage.asked and (late or extras)):
            return []
        payload: Json = {**({"details": late} if late else {}), **({"calls": extras} if extras else {})}
        item: Json = {
            "id": item_id("reasoning", self._suffix, self._next),
            "type": "reasoning",
            "summary": [],
            "encrypted_content": seal(self._carriage.key, self._carriage.origin, payload),
        }
        place = {"output_index": self._next}
        opened = {**item, "encrypted_content": None}
        return [
            Event(ADDED, {"type": ADDED, **place, "item": opened}),
            Event(DONE, {"type": DONE, **place, "item": item}),
        ]


def _words(item: Json) -> str:
    """What a model said to itself, in the content of its reasoning item."""
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == TEXT]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def merged_details(details: list[Json]) -> list[Json]:
    """Streamed ``reasoning_details`` as whole ones: pieces of one index and type become one, texts joined, other
    fields from whichever piece has them (OpenRouter)."""
    whole: list[Json] = []
    for detail in details:
        last = whole[-1] if whole else None
        if last is None or _begins(detail, last):
            whole.append(dict(detail))
            continue
        for name, value in detail.items():
            before: Any = last.get(name)
            if name in ("text", "summary") and isinstance(before, str) and isinstance(value, str):
                last[name] = before + value
            elif value is not None:
                last[name] = value
    return whole


def _begins(detail: Json, last: Json) -> bool:
    """Whether a detail is another one than the one before it. Gemini numbers all of a response 0: there the id of
    their calls tells them apart, and what is opaque arrives whole."""
    if (last.get("index"), last.get("type")) != (detail.get("index"), detail.get("type")):
        return True
    if last.get("data") and detail.get("data"):
        return True
    return bool(last.get("id") and detail.get("id") and last["id"] != detail["id"])
