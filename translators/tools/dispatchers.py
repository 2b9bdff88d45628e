"""Dispatchers: one function for a whole namespace, where an upstream limits how many tools a request may have.

A namespace with its 40 tools becomes one function ``{"name": one of them, "arguments": {..}}`` whose description is
the catalogue. A call of it is unfolded before anything else sees it: the decoder around the upstream's decoder keeps
its events back until the name is known, and plays them as the call that was meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from translators.carrier import ADDED, DONE
from translators.events import Deltas, Event, Json, Note, Run, StreamEvent
from translators.registry import Decoder
from translators.surrogates import clean_tree, loads
from translators.tools.declarations import ToolMap
from translators.tools.namespaces import fingerprinted, flat_name
from translators.wrapper import DecoderWrapper

__all__ = ["Folded", "Unfolding", "fold"]

DELTA: Final = "response.function_call_arguments.delta"
ARGUMENTS_DONE: Final = "response.function_call_arguments.done"
_CATALOGUE: Final = "Calls one of the tools below: its name goes into `name`, its parameters into `arguments`."


@dataclass(slots=True)
class Folded:
    """``children``: dispatcher function -> name in its enum -> flat name of the tool that is meant."""

    children: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Names of the tools that could not go at all, for the log."""

    @property
    def dispatcher_of(self) -> dict[str, tuple[str, str]]:
        """Flat name -> (dispatcher, name in its enum)."""
        return {flat: (name, child) for name, children in self.children.items() for child, flat in children.items()}


def fold(body: Json, tools: ToolMap, limit: int) -> tuple[Json, Folded | None, list[Note]]:
    """A request with at most ``limit`` tools. ``body`` is a hub request whose tools are plain functions; it is not
    changed.

    Below the limit it comes back as it is, with None. Above it every namespace becomes a dispatcher; what still is too
    much is left out from the end, by rule ``tools_over_limit_left_out``, but never ``apply_patch``, a dispatcher or the
    search.
    """
    given = body.get("tools")
    if not isinstance(given, list) or len(given) <= limit:
        return body, None, []
    folded = Folded()
    groups: dict[str, list[Json]] = {}
    order: list[Json | str] = []
    for tool in given:
        declared = tools.by_flat.get(tool.get("name"))
        if declared is None or declared.namespace is None:
            order.append(tool)
        else:
            if declared.namespace not in groups:
                order.append(declared.namespace)
            groups.setdefault(declared.namespace, []).append(tool)
    taken = {tool.get("name") for tool in given}
    made = [each if isinstance(each, dict) else _dispatcher(each, groups[each], tools, taken, folded) for each in order]
    kept, notes = _within(made, tools, folded, limit)
    notes = [Note("namespaces_folded", "tools"), *notes] if groups else notes
    return _history({**body, "tools": kept}, folded), folded, notes


def _dispatcher(namespace: str, group: list[Json], tools: ToolMap, taken: set[Any], folded: Folded) -> Json:
    name = flat_name(None, namespace)
    if name in taken:
        name = fingerprinted(None, f"dispatcher {namespace}")
    taken.add(name)
    children: dict[str, str] = {}
    lines = [_CATALOGUE]
    for tool in group:
        child = tools.by_flat[tool["name"]].name
        child = tool["name"] if child in children else child
        children[child] = tool["name"]
        lines.append(f"\n## {child}\n{tool.get('description') or ''}\nparameters: {_dumped(tool.get('parameters'))}")
    folded.children[name] = children
    parameters = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": list(children), "description": "The tool to call."},
            "arguments": {"type": "object", "properties": {}, "description": "The parameters of that tool."},
        },
        "required": ["name"],
    }
    return {"type": "function", "name": name, "description": "\n".join(lines), "parameters": parameters}


def _within(made: list[Json], tools: ToolMap, folded: Folded, limit: int) -> tuple[list[Json], list[Note]]:
    """The tools that may go, and a note for each that may not."""
    surplus = len(made) - limit
    if surplus <= 0:
        return made, []
    out: set[int] = set()
    for index in range(len(made) - 1, -1, -1):
        declared = tools.by_flat.get(made[index].get("name", ""))
        needed = made[index].get("name") in folded.children or (
            declared is not None and (declared.is_patch or declared.kind == "tool_search")
        )
        if len(out) < surplus and not needed:
            out.add(index)
    kept = [tool for index, tool in enumerate(made) if index not in out][:limit]
    folded.left_out = [made[index].get("name") or made[index].get("type", "") for index in sorted(out)]
    return kept, [Note("tools_over_limit_left_out", f"tools[{index}]") for index in sorted(out)]


def _history(body: Json, folded: Folded) -> Json:
    """Earlier calls and the choice as the declarations are now."""
    places = folded.dispatcher_of
    items = body.get("input")
    if isinstance(items, list):
        body["input"] = [_folded_call(item, places) for item in items]
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        body["tool_choice"] = _folded_choice(choice, places)
    return body


def _folded_choice(choice: Json, places: dict[str, tuple[str, str]]) -> Json:
    if choice.get("type") == "allowed_tools" and isinstance(choice.get("tools"), list):
        return {**choice, "tools": [_folded_choice(each, places) for each in choice["tools"]]}
    return {**choice, "name": places[choice["name"]][0]} if choice.get("name") in places else choice


def _folded_call(item: Any, places: dict[str, tuple[str, str]]) -> Any:
    if not isinstance(item, dict) or item.get("type") != "function_call" or item.get("name") not in places:
        return item
    name, child = places[item["name"]]
    arguments = item.get("arguments")
    try:
        inner = loads(arguments.encode()) if isinstance(arguments, str) else arguments
    except ValueError:
        inner = {}
    inner = inner if isinstance(inner, dict) else {}
    return {**item, "name": name, "arguments": _dumped({"name": child, "arguments": inner})}


def _dumped(value: Any) -> str:
    return orjson.dumps(clean_tree(value) if value is not None else {}).decode()


@dataclass(slots=True)
class _Kept:
    """A dispatcher's call whose real name is not known yet."""

    pieces: list[str] = field(default_factory=list)
    arguments: str | None = None
    item: Json | None = None


class Unfolding(DecoderWrapper):
    """Wraps the decoder of one attempt: calls of dispatchers leave it as calls of the tools that were meant.

    While such a call is being written, everything behind it waits, so items appear in order.
    """

    def __init__(self, inner: Decoder, folded: Folded) -> None:
        super().__init__(inner)
        self._folded = folded
        self._open: dict[int, _Kept] = {}
        self._done: dict[int, _Kept] = {}
        self._queue: list[StreamEvent] = []

    @property
    def details(self) -> list[Json]:
        """Of the inner decoder, for the carrier."""
        return getattr(self._inner, "details", [])

    @property
    def extras(self) -> dict[str, Json]:
        """Of the inner decoder, for the carrier."""
        return getattr(self._inner, "extras", {})

    def _through(self, events: list[StreamEvent]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for event in events:
            self._take(event)
            if self._open or self._queue:
                self._queue.append(event)
                if not self._open:
                    out += self._flush()
            else:
                out.append(event)
        if self.closed is not None:
            self._done.update(self._open)
            self._open.clear()
            out += self._flush()
            for item in (self.closed.response or {}).get("output") or []:
                if isinstance(item, dict) and item.get("name") in self._folded.children:
                    item["name"], item["arguments"] = self._meant(item["name"], item.get("arguments"))
        return out

    def _take(self, event: StreamEvent) -> None:
        """Learn from an event what the calls of dispatchers say."""
        if isinstance(event, Run):
            if self._open and event.kind == DELTA:
                for frame in event.split():
                    body = loads(frame.block.partition(b"data: ")[2].strip())
                    if body.get("output_index") in self._open and isinstance(body.get("delta"), str):
                        self._open[body["output_index"]].pieces.append(body["delta"])
            return
        if isinstance(event, Deltas):
            if event.kind == DELTA and event.output_index in self._open:
                self._open[event.output_index].pieces += event.texts
            return
        index, item = event.body.get("output_index"), event.body.get("item")
        if not isinstance(index, int):
            return
        if event.kind == ADDED and isinstance(item, dict) and item.get("name") in self._folded.children:
            self._open[index] = _Kept()
        elif index in self._open and event.kind == ARGUMENTS_DONE and isinstance(event.body.get("arguments"), str):
            self._open[index].arguments = event.body["arguments"]
        elif index in self._open and event.kind == DONE:
            kept = self._done[index] = self._open.pop(index)
            kept.item = item if isinstance(item, dict) else None

    def _flush(self) -> list[StreamEvent]:
        queue, self._queue = self._queue, []
        out: list[StreamEvent] = []
        for event in queue:
            out += self._played(event)
        return out

    def _played(self, event: StreamEvent) -> list[StreamEvent]:
        if isinstance(event, Run):
            if event.kind != DELTA:
                return [event]
            return [run for run in event.split() if _index(run) not in self._done]
        if isinstance(event, Deltas):
            return [] if event.kind == DELTA and event.output_index in self._done else [event]
        kept = self._done.get(event.body.get("output_index", -1))
        if kept is None or event.kind not in (ADDED, DONE, ARGUMENTS_DONE):
            return [event]
        if event.kind == ARGUMENTS_DONE:
            return []
        return self._opening(event, kept) if event.kind == ADDED else self._closing(event, kept)

    def _opening(self, event: Event, kept: _Kept) -> list[StreamEvent]:
        item = event.body["item"]
        name, arguments = self._meant(item["name"], self._arguments(kept))
        body = {**event.body, "item": {**item, "name": name, "arguments": ""}}
        identity = item.get("id")
        deltas = Deltas(DELTA, identity if isinstance(identity, str) else "", body["output_index"], None, [arguments])
        return [Event(ADDED, body), *([deltas] if arguments else [])]

    def _closing(self, event: Event, kept: _Kept) -> list[StreamEvent]:
        if kept.item is None:
            return [event]
        name, arguments = self._meant(kept.item.get("name") or "", self._arguments(kept))
        return [Event(DONE, {**event.body, "item": {**kept.item, "name": name, "arguments": arguments}})]

    @staticmethod
    def _arguments(kept: _Kept) -> str:
        for given in ((kept.item or {}).get("arguments"), kept.arguments):
            if isinstance(given, str) and given:
                return given
        return "".join(kept.pieces)

    def _meant(self, dispatcher: str, arguments: Any) -> tuple[str, str]:
        """(flat name, arguments) of the call that was meant; the dispatcher's own where that cannot be said."""
        text = arguments if isinstance(arguments, str) else _dumped(arguments)
        children = self._folded.children.get(dispatcher, {})
        try:
            outer = loads(text.encode("utf-8", "replace"))
        except ValueError:
            return dispatcher, text
        if not isinstance(outer, dict):
            return dispatcher, text
        name = outer.get("name")
        flat = children.get(name) if isinstance(name, str) else None
        if flat is None and name in children.values():
            flat = name
        if flat is None:
            return dispatcher, text
        inner = outer.get("arguments", {key: value for key, value in outer.items() if key != "name"})
        if isinstance(inner, str):
            return flat, inner
        return flat, _dumped(inner if isinstance(inner, dict) else {})


def _index(run: Run) -> Any:
    return loads(run.block.partition(b"data: ")[2].strip()).get("output_index")
