"""Tool calls: puts the fragments of a Chat stream back together, whatever a host does to index, id and name.

A fragment belongs to the call with its index, else its id, else its place in the array. Hosts break each of these
(public issue threads): index 0 for all calls, no index, ids only on the first fragment or empty later, the name on
every fragment, arguments as an object, one whole call per chunk. Therefore a new id on a used index starts a new call,
and so does a name that comes with arguments when the call already has a complete object. What goes on under another id
but without a name is the same call: some gateways put their own id on its first fragment only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from translators.chat.emit import Emitter
from translators.events import Json
from translators.failure import Failure
from translators.surrogates import SurrogateJoiner, clean, loads

DELTA = "response.function_call_arguments.delta"
NO_ID = "null"
"""What a gateway makes of the id that a fragment does not have (langchain-ai/langchainjs#11505)."""
BESIDE: dict[str, type] = {
    "extra_content": dict,
    "provider_specific_fields": dict,
    "thoughtSignature": str,
    "thought_signature": str,
}
"""Where hosts of Gemini put what they want back with a call: Google itself, LiteLLM, other gateways
(earendil-works/pi#9443)."""
_BESIDE = frozenset(BESIDE)
LEGACY = -1
"""The place in the array of the deprecated ``function_call`` delta, which has no array."""


@dataclass(slots=True, eq=False)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    output_index: int = -1
    item_id: str = ""
    closed: bool = False
    public_id: str = ""
    extra: Json | None = None
    joiner: SurrogateJoiner = field(default_factory=lambda: SurrogateJoiner(in_json=True))

    @property
    def opened(self) -> bool:
        return self.output_index >= 0

    def complete(self) -> bool:
        """Whether the arguments so far are a whole JSON object."""
        last = next((piece for piece in reversed(self.pieces) if piece.strip()), "")
        if not last.rstrip().endswith("}"):
            return False
        try:
            return isinstance(loads("".join(self.pieces).encode("utf-8", "replace")), dict)
        except ValueError:
            return False


class ToolCalls:
    """The calls of one response. ``close_text`` is called before a call opens; ``max_arguments`` counts characters."""

    def __init__(self, emit: Emitter, close_text: Callable[[], None], max_arguments: int) -> None:
        self.waiting = False
        """Whether a call with a name is not open yet."""
        self._emit = emit
        self._close_text = close_text
        self._max = max_arguments
        self._calls: list[_Call] = []
        self._unopened: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._by_place: dict[int, _Call] = {}
        self._public_ids: set[str] = set()

    @property
    def extras(self) -> dict[str, Json]:
        """What stood beside calls, by the id under which a client knows them (hosts leave ids out, or repeat them)."""
        return {call.public_id: call.extra for call in self._calls if call.public_id and call.extra}

    def fragment(self, raw: object, place: int, ragged: bool = False) -> bool:
        """Take one entry of ``tool_calls``; ``place`` is its position in the array, ``ragged`` that it may hold half
        characters. Returns whether it said anything.

        Raises Failure ``upstream_too_large``, or ``upstream_invalid_response`` for more of a call that was closed.
        """
        if not isinstance(raw, dict):
            return False
        function = raw.get("function")
        if not isinstance(function, dict):
            function = raw
        index, call_id, name = _index(raw.get("index")), _name(raw.get("id")), _name(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        call_id = "" if call_id == NO_ID else call_id
        call = self._find(index, call_id, name, arguments, place)
        if call is None:
            taken = self._by_place.get(place) if index is None else self._by_index.get(index)
            if not (name or arguments) and (not call_id or (taken is not None and taken.name)):
                return False
            call = self._begin(index)
        elif arguments and call.pieces and call_id and call_id == call.id and _repeats(call, arguments):
            return False
        self._by_place[place] = call
        if index is not None:
            call.index = index
            self._by_index[index] = call
        if call_id and not call.id:
            call.id = call_id
        if call_id and (call_id not in self._by_id or self._by_id[call_id].id != call_id):
            self._by_id[call_id] = call
        if name and not call.opened and name.startswith(call.name):
            call.name = name
        if not _BESIDE.isdisjoint(raw):
            beside = {key: raw[key] for key, kind in BESIDE.items() if raw.get(key) and type(raw[key]) is kind}
            call.extra = {**(call.extra or {}), **beside}
        self._append(call, arguments, ragged)
        if call.name and not call.opened:
            self.waiting = True
        return True

    def open_named(self) -> None:
        """Open every call whose name is known: something else is about to begin."""
        for call in [call for call in self._unopened if call.name]:
            self._open(call)
        self.waiting = False

    def finish(self, *, cut: bool) -> None:
        """The upstream finished: close all calls in order. ``cut``: by length, so a call without a name is normal.

        Raises Failure ``invalid_tool_arguments`` for a call that never got a name.
        """
        self.open_named()
        for call in self._calls:
            if call.closed or (cut and not call.opened):
                continue
            if not call.opened:
                raise Failure("invalid_tool_arguments", "The model's answer holds a tool call without a name.")
            self._write(call, call.joiner.finish())
        for call in sorted((call for call in self._calls if call.opened and not call.closed), key=_order):
            call.closed = True
            self._emit.done(call.output_index)

    def _find(self, index: int | None, call_id: str, name: str, arguments: str, place: int) -> _Call | None:
        known = self._by_id.get(call_id) if call_id else None
        if index is not None:
            call = self._by_index.get(index) or (known if known and known.index is None else None)
        else:
            call = known
        if call is None:
            placed = self._by_place.get(place)
            if placed and (index is None or (placed.index is None and not (call_id or name))):
                call = placed
        if call is None or (call_id and call_id == call.id) or (known is call and not name):
            return call
        if call_id and call.id:
            # Under another id, but nameless and in the middle (mistralai/mistral-vibe#1127, poolsideai/pool#9).
            goes_on = arguments and not name and call.name and not call.complete()
            if known and known.index == index and (known.id == call_id or not goes_on):
                return known
            return call if goes_on else None
        if name and call.name and _starts_anew(call, name, arguments):
            return None
        return call

    def _begin(self, index: int | None) -> _Call:
        self.open_named()
        call = _Call(index)
        self._calls.append(call)
        self._unopened.append(call)
        return call

    def _append(self, call: _Call, arguments: str, ragged: bool) -> None:
        if not arguments:
            return
        if call.closed:
            raise Failure("upstream_invalid_response", "The upstream sent more of a tool call after it had finished.")
        call.size += len(arguments)
        if call.size > self._max:
            limit = f"{self._max:,} characters"
            raise Failure("upstream_too_large", f"A tool call's arguments exceed the limit of {limit}.")
        if ragged or call.joiner:
            arguments = call.joiner.feed(arguments)
        if call.opened:
            self._write(call, arguments)
            return
        call.pieces.append(arguments)
        if call.name:
            self.open_named()

    def _open(self, call: _Call) -> None:
        self._unopened.remove(call)
        self._close_text()
        call_id = clean(call.id)
        if not call_id or call_id in self._public_ids:
            call_id = f"call_{self._emit.suffix}_{self._emit.next_index}"
        self._public_ids.add(call_id)
        call.public_id = call_id
        item: Json = {"type": "function_call", "status": "in_progress", "call_id": call_id, "name": clean(call.name)}
        call.output_index, call.item_id = self._emit.open({**item, "arguments": ""})
        for piece in call.pieces:
            self._emit.delta(DELTA, call.item_id, call.output_index, None, piece)

    def _write(self, call: _Call, text: str) -> None:
        if text:
            call.pieces.append(text)
            self._emit.delta(DELTA, call.item_id, call.output_index, None, text)


def _order(call: _Call) -> int:
    return call.output_index


def _starts_anew(call: _Call, name: str, arguments: str) -> bool:
    """Whether a fragment that names its tool again is a new call and not the same one, repeated or spelt out."""
    if name != call.name and (call.opened or not name.startswith(call.name)):
        return bool(call.pieces or arguments)
    return bool(arguments.strip()) and call.complete()


def _repeats(call: _Call, arguments: str) -> bool:
    """Whether a host sent the whole call once more (same id, same complete arguments)."""
    return len(arguments) == call.size and arguments == "".join(call.pieces) and call.complete()


def _index(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if number >= 0 else None


def _name(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments as text: hosts send a JSON string, or the object itself."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value)
