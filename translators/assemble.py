"""Assembler: folds a stream of hub events into the items of one public response.

It is the only accumulator. It opens and closes items, lets each kind of item add the events its upstream left out,
gives missing or repeated ids a public one, and knows at the end which calls may not be released.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from translators.apply_patch.names import drifted
from translators.close import Close
from translators.events import PART_FIELD, Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.gateway.calls import OwnCall
from translators.gateway.citations import CitedText
from translators.gateway.round import OwnRound
from translators.gateway.search import Sources
from translators.items import as_added, is_item_id, item_id
from translators.openitem import (
    BY_DELTA,
    BY_TEXT_DONE,
    PART_ADDED,
    PART_DONE,
    Family,
    OpenItem,
    TextItem,
    family_of,
    split_run,
)
from translators.order import INDEX, Order
from translators.relay import RAW
from translators.runs import names_item, texts_of
from translators.tools.arguments import argument_text
from translators.tools.calls import (
    ARGUMENTS_DONE,
    DEFAULT,
    INPUT_DONE,
    Bridge,
    Call,
    NamelessCall,
    open_call,
)
from translators.tools.declarations import Declared, ToolMap
from translators.tools.native_calls import CLIENT_CALLS, ClientCallItem, NativeCustomCall
from translators.tools.spoken_names import meant

ADDED = "response.output_item.added"
DONE = "response.output_item.done"

_PART = re.compile(rb'"(?:content|summary)_index": ?(\d{1,9})(?=[,}])')
_OF_CALLS = frozenset({ARGUMENTS_DONE, INPUT_DONE})
_OF_TEXT = PART_ADDED | PART_DONE | BY_TEXT_DONE.keys()


class Assembler:
    """Folds the events of one public response, over all its rounds. ``retained`` limits the bytes it may keep,
    ``arguments`` the characters of one call's arguments or input, ``deferred`` the bytes behind a call that the proxy
    runs. ``sources`` are the search results that messages may cite."""

    def __init__(
        self, suffix: str, tools: ToolMap | None, retained: int, arguments: int = 8 << 20, deferred: int = 256 << 10
    ) -> None:
        self._suffix = suffix
        self._tools = tools
        self._bridge = DEFAULT
        self._room = self._base_room = retained
        self._max_arguments = arguments
        self._base = 0
        self._open: dict[int, OpenItem] = {}
        self._finished: dict[int, OpenItem] = {}
        self._given: dict[int, Json] = {}
        self._sizes: dict[int, int] = {}
        self._order = Order(deferred)
        self.sources = Sources()
        self._ids: set[str] = set()
        self._calls: set[str] = set()

    @property
    def next_index(self) -> int:
        """The output_index after the last item seen: where the next round's items begin."""
        return max((*self._open, *self._finished), default=-1) + 1

    def use(self, tools: ToolMap | None, bridge: Bridge = DEFAULT) -> None:
        """The next upstream response begins: the tools as that upstream knows them, and how calls are treated."""
        self._tools, self._bridge = tools, bridge
        self._base, self._base_room = self.next_index, self._room

    def rewind(self) -> None:
        """Forget what came since ``use``: another attempt takes over."""
        self._forget(self._base)
        self._room = self._base_room

    def _forget(self, first: int) -> None:
        for held in (self._open, self._finished, self._given, self._sizes):
            for index in [index for index in held if index >= first]:
                del held[index]
        self._order.clear()

    def feed(self, events: Iterable[StreamEvent]) -> list[StreamEvent]:
        """Take decoded events in order; returns what the client sees, completed where events were missing.

        Raises Failure ``upstream_too_large`` when the response outgrows the limit, ``upstream_invalid_response`` when
        an event contradicts the items.
        """
        return self._order.take(self._fed(events))

    def _fed(self, events: Iterable[StreamEvent]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for event in events:
            if isinstance(event, Run):
                self._charge(len(event.block))
                out += self._run(event)
            elif isinstance(event, Deltas):
                self._charge(sum(map(len, event.texts)))
                out += self._deltas(event)
            elif event.kind == ADDED:
                out += self._add(event)
            elif event.kind == DONE:
                out += self._done(event)
            elif event.kind == RAW:
                self._charge(len(event.body["raw"]))
                out.append(event)
            else:
                out += self._other(event)
        return out

    def close(self, close: Close) -> list[StreamEvent]:
        """The upstream response closed properly: end what is still open, add what only its final object held."""
        status = "completed" if close.status == "completed" else "incomplete"
        given = (close.response or {}).get("output")
        items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
        out: list[StreamEvent] = []
        for index in sorted(self._open):
            final = self._final(items, index)
            out += self._heard(index, final)
            if index in self._open:
                out += self._finish(index, final, status)
        if len(items) > len(self._finished) - self._before():
            for position, item in enumerate(items):
                if not self._knows(position, item):
                    index = self.next_index
                    out += self._add(Event(ADDED, {"output_index": index, "item": as_added(item)}))
                    out += self._finish(index, item, status)
        return self._order.take(out)

    def refusals(self) -> list[Failure]:
        """Why calls may not be released, in item order."""
        items = sorted((*self._finished.items(), *self._open.items()))
        return [item.refused for _, item in items if item.refused is not None]

    def calls(self) -> list[Call]:
        """The calls of the response that just closed, in item order."""
        return [
            item for index, item in sorted(self._finished.items()) if index >= self._base and isinstance(item, Call)
        ]

    def unusable(self) -> list[Call]:
        """Calls of the response that just closed which the model may be asked for again: refused ones and defective
        ones, if nothing of them was shown and no good call stands beside them."""
        bad = [call for call in self.calls() if call.refused is not None or call.defect is not None]
        good = [
            item for index, item in self._finished.items() if index >= self._base and item.holds and item not in bad
        ]
        return [] if good or any(call.shown for call in bad) else bad

    def withdraw(self, calls: list[Call]) -> list[Json]:
        """Take unseen calls out of the response, and what stands behind them, as if nobody had made them. Returns the
        other items of the response that just closed."""
        items = [item for index, item in sorted(self._finished.items()) if index >= self._base]
        self._forget(min(call.index for call in calls))
        return [item.item for item in items if item not in calls and item.refused is None]

    def own(self) -> OwnRound:
        """The calls of the response that just closed which are the proxy's to run."""
        items = [(index, item) for index, item in sorted(self._finished.items()) if index >= self._base]
        return OwnRound(items, self._order, self.sources)

    def unpark(self) -> list[StreamEvent]:
        """The events of defective calls: the client's own parser answers them best."""
        out: list[StreamEvent] = []
        for call in self.calls():
            out += call.parked
            call.parked = []
        return self._order.take(out)

    def output(self, *, held: bool) -> list[Json]:
        """The finished items in order, up to the first that was never shown; with ``held`` False only those whose done
        event was not held back."""
        items = [item for index, item in sorted(self._finished.items()) if index < self._order.first_unseen]
        return [item.item for item in items if item.refused is None and (held or not item.holds)]

    def _before(self) -> int:
        """How many items earlier rounds finished."""
        return sum(index < self._base for index in self._finished)

    def _final(self, items: list[Json], index: int) -> Json | None:
        """The final form of an open item in the upstream's final object."""
        given = self._given[index]
        for key in ("id", "call_id"):
            value = given.get(key)
            if isinstance(value, str) and value:
                for item in items:
                    if item.get(key) == value and item.get("type") == given["type"]:
                        return item
        item = items[index - self._base] if 0 <= index - self._base < len(items) else {}
        named = item.get("id") or (item.get("call_id") and given.get("call_id"))
        return None if named or item.get("type") != given["type"] else item

    def _knows(self, position: int, item: Json) -> bool:
        names = [value for value in (item.get("id"), item.get("call_id")) if isinstance(value, str) and value]
        if not names:
            return position < len(self._finished) - self._before()
        return any(name in self._ids or name in self._calls for name in names)

    def _charge(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise Failure("upstream_too_large", "The upstream response is larger than limits.retained allows.")

    def _add(self, event: Event) -> list[StreamEvent]:
        index, item = event.body.get("output_index"), event.body.get("item")
        if not isinstance(index, int) or not isinstance(item, dict):
            raise Failure("upstream_invalid_response", "The upstream sent an output item without an index or a body.")
        if index in self._open or index in self._finished:
            return []
        kind = item.get("type")
        kind = kind if isinstance(kind, str) and kind else "message"
        given = self._given[index] = {**item, "type": kind}
        item = {**given}
        identity = item.get("id")
        if not is_item_id(identity, kind) or identity in self._ids:
            self._ids.add(str(identity))
            item["id"] = item_id(kind, self._suffix, index)
        if kind in ("function_call", "custom_tool_call"):
            item["status"] = "in_progress"
            if not isinstance(item.get("name"), str):
                item["name"] = ""
            call_id = item.get("call_id")
            if not isinstance(call_id, str) or not call_id or call_id in self._calls:
                item["call_id"] = f"call_{self._suffix}_{index}"
            self._calls.add(item["call_id"])
        return self._begin(kind, item, index)

    def _begin(self, kind: str, item: Json, index: int) -> list[StreamEvent]:
        opened = self._opened(kind, item, index)
        if opened.id != item["id"] and opened.id in self._ids:
            opened.id = opened.item["id"] = item_id(opened.item["type"], self._suffix, index)
        self._ids.update((item["id"], opened.id))
        self._open[index] = opened
        added = opened.added()
        if not added:
            self._order.hide(index)
        if isinstance(opened, OwnCall):
            self._order.gate(index)
        return added

    def _opened(self, kind: str, item: Json, index: int) -> OpenItem:
        if kind == "message" and self.sources:
            return CitedText(item, index, self.sources)
        if kind in ("message", "reasoning"):
            return TextItem(item, index)
        if kind == "function_call":
            item["arguments"] = argument_text(item.get("arguments"))
            return open_call(item, index, self._declared(item["name"]), self._bridge)
        if kind == "custom_tool_call":
            return NativeCustomCall(item, index)
        return ClientCallItem(item, index) if kind in CLIENT_CALLS else OpenItem(item, index)

    def _declared(self, name: str) -> Declared | None:
        """The declared tool that an upstream's function name means, also under one of its usual wrong names."""
        declared = {} if self._tools is None else self._tools.by_flat
        if name not in declared and self._bridge.mode == "repair":
            patches = (flat for flat, tool in declared.items() if tool.is_patch)
            name = meant(name, declared) or drifted(name, patches) or name
        return declared.get(name)

    def _done(self, event: Event) -> list[StreamEvent]:
        index, item = event.body.get("output_index"), event.body.get("item")
        if not isinstance(index, int):
            raise Failure("upstream_invalid_response", "The upstream ended an output item without an index.")
        if index in self._finished:
            return []
        final = item if isinstance(item, dict) else None
        out: list[StreamEvent] = []
        if index not in self._open:
            if final is None:
                return []
            out += self._add(Event(ADDED, {"output_index": index, "item": as_added(final)}))
        out += self._heard(index, final)
        opened = self._open[index]
        if isinstance(opened, NamelessCall):
            return [*out, *opened.event(event)]
        if isinstance(opened, Call) and opened.undecided(final):
            return out
        return [*out, *self._finish(index, final, "completed")]

    def _heard(self, index: int, final: Json | None) -> list[StreamEvent]:
        """A final form of an open item came: it may name a call, or be one more witness of its arguments."""
        if final is None:
            return []
        opened, out = self._open[index], []
        if isinstance(opened, NamelessCall) and (name := _str(final, "name")):
            out = self._named(opened, index, name)
            opened = self._open[index]
        if isinstance(opened, Call):
            opened.hear(final)
        return out

    def _named(self, nameless: NamelessCall, index: int, name: str) -> list[StreamEvent]:
        """The name of a call came late: open it now and play what was kept."""
        self._ids.discard(nameless.id)
        return [*self._begin("function_call", {**nameless.item, "name": name}, index), *self._fed(nameless.kept)]

    def _finish(self, index: int, item: Json | None, status: str) -> list[StreamEvent]:
        kind = (item or {}).get("type")
        if kind is not None and kind != self._given[index]["type"]:
            raise Failure("upstream_invalid_response", "The upstream changed the type of an output item on the way.")
        opened = self._open.pop(index)
        self._finished[index] = opened
        out = opened.finish(item, status)
        opened.pieces.clear()
        if isinstance(opened, OwnCall):
            self._measure(index, len(opened.arguments))
        elif opened.holds:
            self._measure(index, max(len(_str(opened.item, "arguments")), len(_str(opened.item, "input"))))
        return out

    def _measure(self, index: int, size: int) -> None:
        self._sizes[index] = size
        if size > self._max_arguments:
            limit = f"{self._max_arguments:,} characters"
            raise Failure("upstream_too_large", f"A tool call's arguments exceed the limit of {limit}.")

    def _other(self, event: Event) -> list[StreamEvent]:
        index = event.body.get("output_index")
        if not isinstance(index, int):
            return [] if event.kind in _OF_CALLS else [event]
        opened = self._open.get(index)
        if isinstance(opened, NamelessCall) and (name := _str(event.body, "name")):
            return [*self._named(opened, index, name), *self._other(event)]
        if opened is not None:
            misplaced = event.kind in _OF_TEXT if opened.holds else event.kind in _OF_CALLS
            shown = [] if misplaced else opened.event(event)
            # The end of a call is made when it was judged; what the upstream says about it is only remembered.
            return [] if event.kind in _OF_CALLS else shown
        if index in self._finished or event.kind in _OF_CALLS:
            return []
        family = BY_TEXT_DONE.get(event.kind)
        if family is None and event.kind in _OF_TEXT:
            family = family_of(event.body.get("part"))
        if family is None:
            return [event]
        return [*self._imply(family, index, event.body.get("item_id")), *self._open[index].event(event)]

    def _imply(self, family: Family, index: int, identity: object) -> list[StreamEvent]:
        """Open the item that a part or a delta speaks of, when its added event was left out."""
        kind = "message" if family.part_type in ("output_text", "refusal") else "reasoning"
        return self._add(Event(ADDED, {"output_index": index, "item": {"type": kind, "id": identity}}))

    def _deltas(self, deltas: Deltas) -> list[StreamEvent]:
        index = deltas.output_index
        opened = self._open.get(index)
        before: list[StreamEvent] = []
        if opened is None:
            family = BY_DELTA.get(deltas.kind)
            if family is None or index in self._finished or index < 0:
                return []
            before = self._imply(family, index, deltas.item_id)
            opened = self._open[index]
        if opened.holds:
            self._measure(index, self._sizes.get(index, 0) + sum(map(len, deltas.texts)))
        return [*before, *opened.deltas(deltas)]

    def _run(self, run: Run) -> list[StreamEvent]:
        """Raw deltas: pass them untouched when they belong to one open item that allows it, else decode them."""
        if run.kind not in PART_FIELD:
            return [run]
        match = INDEX.search(run.block)
        opened = self._open.get(int(match[1])) if match else None
        if opened is not None and match is not None and run.block.count(match[0] + b",") == run.count:
            if run.kind in opened.raw_kinds and names_item(run, opened.id):
                part = _PART.search(run.block)
                if PART_FIELD[run.kind] is None:
                    return opened.run(run, None)
                if part is not None and run.block.count(part[0] + b",") == run.count:
                    return opened.run(run, int(part[1]))
            elif run.kind not in opened.raw_kinds and PART_FIELD[run.kind] is None:
                texts = texts_of(run)
                if texts is not None:
                    return self._deltas(Deltas(run.kind, opened.id, opened.index, None, texts))
        if run.count > 1:
            return [event for single in run.split() for event in self._run(single)]
        return [event for deltas in split_run(run) for event in self._deltas(deltas)]


def _str(item: Json, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""
