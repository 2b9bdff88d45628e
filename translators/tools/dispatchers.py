"""Dispatchers: one function for a whole namespace, where an upstream limits how many tools a request may have.

A namespace with its 40 tools becomes one function ``{"name": one of them, "arguments": {..}}`` whose description is
the catalogue. A call of it is unfolded before anything else sees it: the decoder around the upstream's decoder keeps
its events back until the name is known, and plays them as the call that was meant.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from translators.carrier import ADDED, DONE
from translators.events import Deltas, Event, Json, Note, Run, StreamEvent
from translators.failure import Failure
from translators.openitem import split_run
from translators.registry import Decoder
from translators.surrogates import clean, clean_tree, escaped, loads
from translators.tools.arguments import argument_text
from translators.tools.declarations import ToolMap
from translators.tools.members import members
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
        declared = tools.by_flat.get(_function(tool))
        if declared is None or declared.namespace is None:
            order.append(tool)
        else:
            if declared.namespace not in groups:
                order.append(declared.namespace)
            groups.setdefault(declared.namespace, []).append(tool)
    taken = {_function(tool) for tool in given}
    made = [each if isinstance(each, dict) else _dispatcher(each, groups[each], tools, taken, folded) for each in order]
    kept, notes = _within(made, tools, folded, limit, _chosen(body.get("tool_choice")))
    notes = [Note("namespaces_folded", "tools"), *notes] if groups else notes
    return _history({**body, "tools": kept}, folded), folded, notes


def _dispatcher(namespace: str, group: list[Json], tools: ToolMap, taken: set[str], folded: Folded) -> Json:
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


def _within(
    made: list[Json], tools: ToolMap, folded: Folded, limit: int, chosen: set[str]
) -> tuple[list[Json], list[Note]]:
    """The tools that may go, and a note for each that may not."""
    surplus = len(made) - limit
    if surplus <= 0:
        return made, []
    out: set[int] = set()
    for index in range(len(made) - 1, -1, -1):
        name = _function(made[index])
        declared = tools.by_flat.get(name)
        needed = (
            name in folded.children
            or (name or made[index].get("type")) in chosen
            or (declared is not None and (declared.is_patch or declared.kind == "tool_search"))
        )
        if len(out) < surplus and not needed:
            out.add(index)
    kept = [tool for index, tool in enumerate(made) if index not in out][:limit]
    folded.left_out = [_function(made[index]) or made[index].get("type", "") for index in sorted(out)]
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
    return {**choice, "name": places[choice["name"]][0]} if _function(choice) in places else choice


def _chosen(choice: Any) -> set[str]:
    """The functions and hosted types that a choice names: without them an upstream refuses it."""
    if not isinstance(choice, dict):
        return set()
    if choice["type"] == "allowed_tools":
        return {name for each in choice["tools"] for name in _chosen(each)}
    return {_function(choice) or choice["type"]}


def _folded_call(item: Any, places: dict[str, tuple[str, str]]) -> Any:
    if not isinstance(item, dict) or item.get("type") != "function_call" or item.get("name") not in places:
        return item
    name, child = places[item["name"]]
    return {
        **item,
        "name": name,
        "arguments": f'{{"name":{_dumped(child)},"arguments":{_object(item.get("arguments"))}}}',
    }


def _object(arguments: Any) -> str:
    """Earlier arguments as they were written; an empty object for what is none."""
    text = argument_text(clean_tree(arguments))
    try:
        if isinstance(orjson.loads(text), dict):
            return text.strip()
    except orjson.JSONDecodeError:
        pass
    return "{}"


def _dumped(value: Any) -> str:
    return orjson.dumps(clean_tree(value) if value is not None else {}).decode()


@dataclass(slots=True)
class _Kept:
    """A call of a dispatcher, or one whose name is not known yet. ``ids`` are its id and its call id; ``at_once``,
    ``told``, ``final`` and ``last`` its arguments as its first event, their own, its end and the final object have
    them, ``size`` counts the characters of ``pieces``."""

    name: str = ""
    ids: set[str] = field(default_factory=set)
    at_once: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    told: str = ""
    final: str = ""
    last: str = ""

    @property
    def streamed(self) -> str:
        """What came in pieces."""
        return "".join(self.pieces)

    @property
    def best(self) -> str:
        """The arguments of the most definite event that has any."""
        return self.final or self.told or self.streamed or self.at_once or self.last

    def hear(self, body: Json) -> str:
        """Its name may come with any event; returns the arguments that are there."""
        self.name = self.name or _name(body)
        return argument_text(body.get("arguments"))


class Unfolding(DecoderWrapper):
    """Wraps the decoder of one attempt: calls of dispatchers leave it as calls of the tools that were meant.

    While such a call is being written, everything behind it waits, so items appear in order. All that an upstream says
    of a call is unfolded, each by itself, so that whoever judges it sees what contradicts. ``max_arguments`` counts
    characters of one call.
    """

    def __init__(self, inner: Decoder, folded: Folded, max_arguments: int = 8 << 20) -> None:
        super().__init__(inner)
        self._folded = folded
        self._max = max_arguments
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
                out += self._played(event) if isinstance(event, Event) else [event]
        if self.closed is not None:
            self._close((self.closed.response or {}).get("output"))
            out += self._flush()
        return out

    def _close(self, output: Any) -> None:
        """The final object may name a call, and says once more what the calls are."""
        self._done.update(self._open)
        self._open.clear()
        for item in output if isinstance(output, list) else []:
            if not isinstance(item, dict):
                continue
            name = _name(item)
            for kept in self._done.values():
                if not kept.ids.isdisjoint(_ids(item)):
                    kept.last = kept.hear(item)
                    name = name or kept.name
            if name in self._folded.children:
                # What cannot be read says no more of a call than its events did.
                meant = self._meant(name, argument_text(item.get("arguments")))
                if meant or self._done:
                    item["name"], item["arguments"] = meant or ("", "")

    def _take(self, event: StreamEvent) -> None:
        """Learn from an event what the calls of dispatchers say."""
        if not isinstance(event, Event):
            if self._open and event.kind == DELTA:
                self._pieces(event)
            return
        index, item = event.body.get("output_index"), event.body.get("item")
        if not isinstance(index, int):
            return
        kept = self._open.get(index)
        if event.kind == ADDED and isinstance(item, dict) and index not in self._done:
            name = _name(item)
            if name in self._folded.children or (item.get("type") == "function_call" and not name):
                kept = self._open[index] = _Kept(ids=_ids(item))
                kept.at_once = kept.hear(item)
        elif kept is not None and event.kind == ARGUMENTS_DONE:
            kept.told = kept.hear(event.body) or kept.told
        elif event.kind == DONE and isinstance(item, dict):
            if kept is None and index not in self._done and _name(item) in self._folded.children:
                kept = _Kept()
            if kept is not None:
                kept.ids |= _ids(item)
                kept.final = kept.hear(item)
        if event.kind == DONE and kept is not None:
            self._open[index] = kept
            if kept.name and kept.best:  # else only the final object may tell
                self._done[index] = self._open.pop(index)

    def _pieces(self, event: Deltas | Run) -> None:
        for deltas in split_run(event) if isinstance(event, Run) else (event,):
            kept = self._open.get(deltas.output_index)
            if kept is None:
                continue
            kept.pieces += deltas.texts
            kept.size += sum(map(len, deltas.texts))
            if kept.size > self._max:
                text = f"A tool call's arguments exceed the limit of {self._max:,} characters."
                raise Failure("upstream_too_large", text)

    def _flush(self) -> list[StreamEvent]:
        queue, self._queue = self._queue, []
        out: list[StreamEvent] = []
        for event in queue:
            out += self._played(event)
        return out

    def _played(self, event: StreamEvent) -> list[StreamEvent]:
        if isinstance(event, Run) and event.kind == DELTA and self._done:
            runs = event.split() if event.count > 1 else [event]
            return [run for run in runs if self._known(_index(run)) is None]
        if isinstance(event, Deltas):
            return [] if event.kind == DELTA and self._known(event.output_index) else [event]
        if not isinstance(event, Event) or (kept := self._known(event.body.get("output_index"))) is None:
            return [event]
        if event.kind == ADDED:
            return self._opening(event, kept)
        if event.kind == ARGUMENTS_DONE:
            return self._said(event.body, kept.name, kept.told)
        return self._closing(event, kept) if event.kind == DONE else [event]

    def _known(self, index: Any) -> _Kept | None:
        """The ended call of a dispatcher with this place; not one that proved to be another function's."""
        kept = self._done.get(index)
        return kept if kept is not None and kept.name in self._folded.children else None

    def _opening(self, event: Event, kept: _Kept) -> list[StreamEvent]:
        item, index = event.body["item"], event.body["output_index"]
        meant, streamed, at_once = (self._meant(kept.name, text) for text in (kept.best, kept.streamed, kept.at_once))
        name, arguments = meant or (kept.name, kept.best)
        added = Event(ADDED, {**event.body, "item": {**item, "name": name, "arguments": at_once[1] if at_once else ""}})
        if streamed is not None and streamed[0] != name:
            return [added, *self._said({"output_index": index}, kept.name, kept.streamed)]
        text = streamed[1] if streamed else "" if meant and (kept.final or kept.told) else arguments
        identity = item.get("id")
        deltas = Deltas(DELTA, identity if isinstance(identity, str) else "", index, None, [text])
        return [added, *([deltas] if text else [])]

    def _said(self, body: Json, dispatcher: str, arguments: str) -> list[StreamEvent]:
        """Complete arguments, with the name of the tool that they are for."""
        meant = self._meant(dispatcher, arguments)
        return [Event(ARGUMENTS_DONE, {**body, "name": meant[0], "arguments": meant[1]})] if meant else []

    def _closing(self, event: Event, kept: _Kept) -> list[StreamEvent]:
        item = event.body.get("item")
        if not isinstance(item, dict):
            return [event]
        name, _ = self._meant(kept.name, kept.best) or (kept.name, "")
        name, arguments = self._meant(kept.name, kept.final) or (name, kept.final)
        return [Event(DONE, {**event.body, "item": {**item, "name": name, "arguments": arguments}})]

    def _meant(self, dispatcher: str, arguments: str) -> tuple[str, str] | None:
        """(flat name, arguments) of the call that is meant; None where that cannot be said."""
        outer = members(arguments)
        children = self._folded.children[dispatcher]
        if outer is None or not outer.get("name", "").startswith('"'):
            return None
        name = clean(json.loads(outer.pop("name"), strict=False))
        flat = children.get(name) or (name if name in children.values() else None)
        if flat is None:
            return None
        inner = outer.get("arguments")
        if inner is None:
            return flat, "{" + ",".join(f"{_dumped(key)}:{raw}" for key, raw in outer.items()) + "}"
        if inner.startswith('"'):
            return flat, escaped(json.loads(inner, strict=False))
        return flat, "{}" if inner == "null" else inner


def _function(tool: Json) -> str:
    """The name of a plain function; "" for a tool that the upstream runs."""
    return _name(tool) if tool.get("type") == "function" else ""


def _name(body: Json) -> str:
    name = body.get("name")
    return name if isinstance(name, str) else ""


def _ids(item: Json) -> set[str]:
    return {value for value in (item.get("id"), item.get("call_id")) if isinstance(value, str) and value}


def _index(run: Run) -> Any:
    return loads(run.block.partition(b"data: ")[2].strip()).get("output_index")
