"""Assembler: folds a stream of hub events into the items of one public response.

It is the only accumulator. It opens and closes items, lets each kind of item add the events its upstream left out,
gives missing or repeated ids a public one, and knows at the end which calls may not be released.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson

from translators.close import Close
from translators.events import PART_FIELD, Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.items import item_id
from translators.openitem import ClientCallItem, OpenItem, TextItem, split_run
from translators.tools.calls import Call, NativeCustomCall, open_call
from translators.tools.declarations import ToolMap

ADDED = "response.output_item.added"
DONE = "response.output_item.done"
CLIENT_CALLS = frozenset({"local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call"})
"""Item types in which an upstream asks the client to act."""

_INDEX = re.compile(rb'"output_index": ?(\d+)')
_PART = re.compile(rb'"(?:content|summary)_index": ?(\d+)')
_DELTA = re.compile(rb'"delta": ?("(?:[^"\\]|\\.)*")')


class Assembler:
    """Folds the events of one public response, over all its rounds. ``retained`` limits the bytes it may keep."""

    def __init__(self, suffix: str, tools: ToolMap | None, retained: int) -> None:
        self._suffix = suffix
        self._tools = tools
        self._room = retained
        self._open: dict[int, OpenItem] = {}
        self._finished: dict[int, OpenItem] = {}
        self._ids: set[str] = set()
        self._calls: set[str] = set()

    @property
    def next_index(self) -> int:
        """The output_index after the last item seen: where the next round's items begin."""
        return max((*self._open, *self._finished), default=-1) + 1

    def use(self, tools: ToolMap | None) -> None:
        """The tools as the current upstream knows them; calls are restored by this map."""
        self._tools = tools

    def feed(self, events: Iterable[StreamEvent]) -> list[StreamEvent]:
        """Take decoded events in order; returns what the client sees, completed where events were missing.

        Raises Failure ``upstream_too_large`` when the response outgrows the limit, ``upstream_invalid_response`` when
        an event contradicts the items.
        """
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
            else:
                out += self._other(event)
        return out

    def close(self, close: Close) -> list[StreamEvent]:
        """The upstream response closed properly: end what is still open, add what only its final object held."""
        status = "completed" if close.status == "completed" else "incomplete"
        out: list[StreamEvent] = []
        for index in sorted(self._open):
            out += self._finish(index, None, status)
        given = (close.response or {}).get("output")
        items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
        if len(items) > len(self._finished):
            for item in items:
                if item.get("id") not in self._ids and item.get("call_id") not in self._calls:
                    index = self.next_index
                    out += self._add(Event(ADDED, {"output_index": index, "item": _opened(item)}))
                    out += self._finish(index, item, status)
        return out

    def refusals(self) -> list[Failure]:
        """Why calls may not be released, in item order."""
        items = (*self._finished.values(), *self._open.values())
        return [item.refused for item in items if isinstance(item, Call) and item.refused is not None]

    def output(self, *, held: bool) -> list[Json]:
        """The finished items in order; with ``held`` False only those whose done event was not held back."""
        return [
            item.item
            for _, item in sorted(self._finished.items())
            if not (isinstance(item, Call) and item.refused is not None) and (held or not item.holds)
        ]

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
        kind = kind if isinstance(kind, str) else "message"
        given = item.get("id")
        if not isinstance(given, str) or not given or given in self._ids:
            item = {**item, "id": item_id(kind, self._suffix, index)}
        if kind.endswith("_call") and kind in ("function_call", "custom_tool_call"):
            if not isinstance(item.get("call_id"), str) or not item["call_id"]:
                item = {**item, "call_id": f"call_{self._suffix}_{index}"}
            self._calls.add(item["call_id"])
        opened = self._opened(kind, item, index)
        self._ids.update((item["id"], opened.id, given if isinstance(given, str) else opened.id))
        self._open[index] = opened
        return opened.added()

    def _opened(self, kind: str, item: Json, index: int) -> OpenItem:
        if kind in ("message", "reasoning"):
            return TextItem(item, index)
        if kind == "function_call":
            return open_call(item, index, self._tools.by_flat.get(item.get("name", "")) if self._tools else None)
        if kind == "custom_tool_call":
            return NativeCustomCall(item, index)
        return ClientCallItem(item, index) if kind in CLIENT_CALLS else OpenItem(item, index)

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
            out += self._add(Event(ADDED, {"output_index": index, "item": _opened(final)}))
        return [*out, *self._finish(index, final, "completed")]

    def _finish(self, index: int, item: Json | None, status: str) -> list[StreamEvent]:
        opened = self._open.pop(index)
        self._finished[index] = opened
        out = opened.finish(item, status)
        opened.pieces.clear()
        return out

    def _other(self, event: Event) -> list[StreamEvent]:
        index = event.body.get("output_index")
        opened = self._open.get(index) if isinstance(index, int) else None
        if opened is not None:
            return opened.event(event)
        return [] if index in self._finished else [event]

    def _deltas(self, deltas: Deltas) -> list[StreamEvent]:
        opened = self._open.get(deltas.output_index)
        return opened.deltas(deltas) if opened is not None else []

    def _run(self, run: Run) -> list[StreamEvent]:
        """Raw deltas: pass them untouched when they belong to one open item that allows it, else decode them."""
        if run.kind not in PART_FIELD:
            return [run]
        match = _INDEX.search(run.block)
        opened = self._open.get(int(match[1])) if match else None
        if opened is not None and match is not None and run.block.count(match[0] + b",") == run.count:
            if run.kind in opened.raw_kinds and run.block.count(opened.id.encode()) >= run.count:
                part = _PART.search(run.block)
                if part is None or run.block.count(part[0] + b",") == run.count:
                    return opened.run(run, int(part[1]) if part else None)
            elif run.kind not in opened.raw_kinds and PART_FIELD[run.kind] is None:
                texts = _texts(run)
                if texts is not None:
                    return opened.deltas(Deltas(run.kind, opened.id, opened.index, None, texts))
        if run.count > 1:
            return [event for single in run.split() for event in self._run(single)]
        return [event for deltas in _split(run) for event in self._deltas(deltas)]


def _opened(item: Json) -> Json:
    """A final item as its ``added`` event shows it: no content yet."""
    empty: Json = {"status": "in_progress"} if "status" in item else {}
    for key, value in (("content", []), ("summary", []), ("arguments", ""), ("input", "")):
        if isinstance(item.get(key), type(value)):
            empty[key] = value
    return {**item, **empty}


def _texts(run: Run) -> list[str] | None:
    raw = _DELTA.findall(run.block)
    if len(raw) != run.count:
        return None
    try:
        texts: list[str] = orjson.loads(b"[" + b",".join(raw) + b"]")
    except orjson.JSONDecodeError:
        return None
    return texts


def _split(run: Run) -> list[Deltas]:
    try:
        return split_run(run)
    except (ValueError, KeyError, TypeError) as error:
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not valid JSON.") from error
