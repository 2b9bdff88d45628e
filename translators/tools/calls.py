"""Open tool calls: the answer side of the tool bridge.

An upstream only ever calls plain functions. Here such a call becomes again what the client declared (a custom tool, a
member of a namespace, a tool search), its arguments are judged, and its ``*.done`` events are held: a client runs a
call the moment it sees ``response.output_item.done`` (measured with Codex CLI 0.171.0), so they are released only when
the whole upstream response closed properly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import orjson

from translators.apply_patch.reader import PatchReader
from translators.apply_patch.unwrap import InputReader, UnwrapError, judge
from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.gateway.calls import OwnCall
from translators.gateway.own_item import OwnItem
from translators.openitem import OpenItem
from translators.tools.arguments import ArgumentsError, argument_text, judge_function_arguments
from translators.tools.declarations import Declared

ARGUMENTS_DELTA = "response.function_call_arguments.delta"
ARGUMENTS_DONE = "response.function_call_arguments.done"
INPUT_DELTA = "response.custom_tool_call_input.delta"
INPUT_DONE = "response.custom_tool_call_input.done"

INVALID_PATCH = "Invalid apply_patch tool arguments received from upstream."
CONTRADICTION = "the complete arguments contradict what was streamed"
CUT_OFF = "the response ended before the call was complete"
DRIFTED = "drifted_name"
"""The rule by which a call under one of the usual wrong names of apply_patch is taken for it."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """How calls of this response are treated.

    ``mode`` is that of apply_patch: ``strict`` and ``pass`` repair nothing. ``live``: input may be shown while it is
    written; False holds every call until it was judged. ``rules`` switches repair rules by id.
    """

    mode: Literal["strict", "repair", "pass"] = "repair"
    live: bool = True
    rules: Mapping[str, bool] | None = None


DEFAULT = Bridge()


def refusal_of(declared: Declared | None, name: str, reason: str) -> Failure:
    """The one failure for a call that must not reach the client. Never holds a byte of the arguments."""
    if declared is not None and declared.is_patch:
        return Failure("invalid_tool_arguments", INVALID_PATCH)
    return Failure(
        "invalid_tool_arguments", f"Invalid arguments for tool {name[:64]!r} received from upstream: {reason}."
    )


class Call(OpenItem):
    """A function call that stays a function call; a namespaced one gets its name and namespace back."""

    holds = True
    raw_kinds: frozenset[str] = frozenset({ARGUMENTS_DELTA})

    def __init__(
        self, item: Json, index: int, declared: Declared | None, bridge: Bridge = DEFAULT, public: Json | None = None
    ) -> None:
        super().__init__(public or item, index)
        self.declared = declared
        self.live = bridge.live
        self.shown = False
        """Whether any event of this call was let out: then nobody may be asked for it again."""
        self.rules: tuple[str, ...] = ()
        """What was repaired."""
        self.defect: str | None = None
        """Why the input is not what the tool takes although its envelope was right; then ``parked`` holds its events
        until somebody decides between asking again and handing it on unchanged."""
        self.parked: list[StreamEvent] = []
        self.wrote = ""
        """The arguments as the upstream wrote them, once the call has ended."""
        self.reason = ""
        """Why it was refused, in words for the model that wrote it."""
        self._waiting: list[StreamEvent] = []
        self._last: Json | None = None
        self._told: list[str] = []
        self.upstream_name: str = item["name"]
        self._at_once = argument_text(item.get("arguments"))
        if declared is not None:
            self.item = self._restored(self.item)

    @property
    def later(self) -> bool:
        """Whether it is good, and of a tool that the client declared as asynchronous."""
        good = self.refused is None and self.defect is None
        return good and self.declared is not None and self.declared.later

    def added(self) -> list[StreamEvent]:
        return self._show(super().added())

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        return self._show(super().deltas(deltas))

    def run(self, run: Run, part: int | None) -> list[StreamEvent]:
        return self._show(super().run(run, part))

    def _show(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """Let events out, or keep them until the call was judged."""
        if not self.live:
            self._waiting += events
            return []
        self.shown = self.shown or bool(events)
        return events

    def _released(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """The call was judged: what was kept, then ``events``."""
        waiting, self._waiting = self._waiting, []
        self.shown = True
        return [*waiting, *events]

    def _restored(self, item: Json) -> Json:
        declared = self.declared
        if declared is None:
            return item
        named = {**item, "name": declared.name}
        if declared.namespace is not None:
            named["namespace"] = declared.namespace
        return {**named, "async": True} if declared.later else named

    def event(self, event: Event) -> list[StreamEvent]:
        if event.kind == ARGUMENTS_DONE:
            self._hear_again(event.body)
            return []
        return super().event(event)

    def hear(self, item: Json) -> None:
        """A final form of the call came. Those behind the first one, of another final item or of the upstream's final
        object, are witnesses of what it is."""
        if self._last is None:
            self._last = item
        else:
            self._hear_again(item)

    def _hear_again(self, body: Json) -> None:
        """Complete arguments beside those of the final item. Empty ones say nothing: some hosts leave them out."""
        self._check_name(body)
        if text := argument_text(body.get("arguments")):
            self._told.append(text)

    def undecided(self, item: Json | None) -> bool:
        """Whether only the close of the response can tell what this call is: no argument text at all means a call
        without arguments, or one cut off before them."""
        return not self._arguments(item).strip()

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        item = self._last or item
        arguments = self._arguments(item)
        self.wrote = arguments or self._at_once
        self._check(item)
        if self.refused is None and status == "incomplete" and not arguments.strip():
            self._refuse(CUT_OFF)
        return [] if self.refused is not None else self._finish(item, truncated=status == "incomplete")

    def _finish(self, item: Json | None, *, truncated: bool) -> list[StreamEvent]:
        arguments = self._judged(item, self.declared.parameters if self.declared else None)
        if arguments is None:
            return []
        given = {key: value for key, value in (item or {}).items() if value is not None}
        self.item = {**self.item, **self._restored(given), "id": self.id, "call_id": self.item["call_id"]}
        self.item["arguments"], self.item["status"] = arguments, "completed"
        name = self.declared.name if self.declared is not None else self.upstream_name
        self.item["type"], self.item["name"] = "function_call", name
        body: Json = {"item_id": self.id, "output_index": self.index, "name": name, "arguments": arguments}
        return self._released([Event(ARGUMENTS_DONE, body, held=True), self.done()])

    def _judged(self, item: Json | None, parameters: Json | None) -> str | None:
        try:
            return judge_function_arguments(self._arguments(item) or self._at_once, parameters)
        except ArgumentsError as error:
            self._refuse(str(error))
        return None

    def _refuse(self, reason: str) -> None:
        self.reason = reason
        self.refused = refusal_of(self.declared, self.upstream_name, reason)

    def _check(self, item: Json | None) -> None:
        if item is None:
            return
        self._check_name(item)
        if item.get("status") == "incomplete":
            self._refuse(CUT_OFF)

    def _check_name(self, item: Json) -> None:
        name, known = item.get("name"), self.declared.flat if self.declared is not None else self.upstream_name
        if isinstance(name, str) and name and name not in (self.upstream_name, known):
            self._refuse("its name changed on the way")

    def _complete(self, item: Json | None) -> list[str]:
        """What the upstream said the complete arguments are, the final item first."""
        final = argument_text((item or {}).get("arguments"))
        return [final, *self._told] if final else self._told

    def _arguments(self, item: Json | None) -> str:
        """The complete arguments as they were told, else what was streamed."""
        told = self._complete(item)
        return told[0] if told else self.streamed(ARGUMENTS_DELTA, None)


class CustomCall(Call):
    """A call of a custom tool: ``{"input": "..."}`` is opened while it streams and goes out as plain input.

    Nothing of it is shown before there is text to show, so that a call that begins wrong leaves no trace.
    """

    raw_kinds = frozenset()

    def __init__(self, item: Json, index: int, declared: Declared, bridge: Bridge = DEFAULT) -> None:
        public = {"type": "custom_tool_call", "id": "ctc_" + item["id"].removeprefix("fc_"), "status": "in_progress"}
        public |= {"call_id": item["call_id"], "name": declared.name, "input": ""}
        super().__init__(item, index, declared, bridge, public)
        repairs = declared.is_patch and bridge.mode == "repair"
        self._reader = PatchReader(live=bridge.live, enabled=bridge.rules) if repairs else InputReader()
        self._streamed = False
        self._opening: list[StreamEvent] = []
        if declared.flat != self.upstream_name:
            self.rules = (DRIFTED,)

    def added(self) -> list[StreamEvent]:
        self._opening = OpenItem.added(self)
        return []

    def undecided(self, item: Json | None) -> bool:
        """Always: what is missing in a patch may only be added to a call that was not cut off, and the final object
        may contradict what was said before."""
        return True

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        if deltas.kind != ARGUMENTS_DELTA or (self._last is not None and self._last.get("arguments")):
            return []
        self._streamed = True
        self.pieces.append(deltas)
        if self.refused is not None:
            return []
        feed = self._reader.feed
        try:
            texts = [text for delta in deltas.texts if (text := feed(delta))]
        except UnwrapError as error:
            self._refuse(str(error))
            return []
        if not texts:
            return []
        visible: list[StreamEvent] = [Deltas(INPUT_DELTA, self.id, self.index, None, texts)]
        return visible if self.shown else self._visible(visible)

    def _visible(self, events: list[StreamEvent]) -> list[StreamEvent]:
        opening, self._opening = self._opening, []
        return self._show([*opening, *events])

    def _finish(self, item: Json | None, *, truncated: bool) -> list[StreamEvent]:
        told, streamed = self._complete(item), self.streamed(ARGUMENTS_DELTA, None)
        given = told[0] if told else None if self._streamed else self._at_once
        reader = self._reader
        try:
            if any(_contradict(other, given or streamed) for other in (streamed, self._at_once, *told[1:])):
                raise UnwrapError(CONTRADICTION, len(given or streamed))
            if isinstance(reader, PatchReader):
                tail = reader.finish(given or None, truncated=truncated)
                self.rules, self.defect = (*self.rules, *reader.rules), _defect(reader)
            else:
                tail = reader.finish(given or None)
        except UnwrapError as error:
            self._refuse(str(error))
            return []
        text = reader.text()
        body: Json = {"item_id": self.id, "output_index": self.index, "input": text}
        out: list[StreamEvent] = [*self._opening]
        self.item = {**self.item, "status": "completed", "input": text}
        if tail and self._streamed:
            out.append(Deltas(INPUT_DELTA, self.id, self.index, None, [tail]))
        out += [Event(INPUT_DONE, body, held=True), self.done()]
        if self.defect is not None and not self.shown:
            self.parked = [*self._waiting, *out]
            return []
        return self._released(out)


def _contradict(other: str, given: str) -> bool:
    """Whether both are right and say different things. What is written otherwise, or not complete, is no witness."""
    if given.startswith(other):
        return False
    try:
        return judge(other) != judge(given)
    except UnwrapError:
        return False


def _defect(reader: PatchReader) -> str | None:
    return None if reader.defect is None else f"line {reader.line}, column {reader.column}: {reader.defect}"


class ToolSearchCall(Call):
    """A call of the client's tool search: arguments become the object that ``tool_search_call`` items carry."""

    raw_kinds = frozenset()

    def __init__(self, item: Json, index: int, declared: Declared, bridge: Bridge = DEFAULT) -> None:
        public = {"type": "tool_search_call", "id": "tsc_" + item["id"].removeprefix("fc_"), "status": "in_progress"}
        public |= {"call_id": item["call_id"], "execution": "client", "arguments": {}}
        super().__init__(item, index, None, bridge, public)
        self._parameters = declared.parameters

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        self.pieces.append(deltas)
        return []

    def _finish(self, item: Json | None, *, truncated: bool) -> list[StreamEvent]:
        arguments = self._judged(item, self._parameters)
        if arguments is None:
            return []
        self.item = {**self.item, "status": "completed", "arguments": orjson.loads(arguments)}
        return self._released([self.done()])


class NamelessCall(OpenItem):
    """A function call whose name has not come yet: nobody can tell what it will be, so nothing of it is shown."""

    holds = True

    def __init__(self, item: Json, index: int) -> None:
        super().__init__(item, index)
        self.kept: list[StreamEvent] = []

    def added(self) -> list[StreamEvent]:
        return []

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        self.kept.append(deltas)
        return []

    def event(self, event: Event) -> list[StreamEvent]:
        self.kept.append(event)
        return []

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        self.refused = refusal_of(None, "", "the call has no name")
        return []


def open_call(item: Json, index: int, declared: Declared | None, bridge: Bridge = DEFAULT) -> OpenItem:
    """The open form of a ``function_call`` item that an upstream began."""
    if not item.get("name"):
        return NamelessCall(item, index)
    if declared is None:
        return Call(item, index, None, bridge)
    if declared.own is not None:
        own = OwnCall(item, index, declared)
        own.item = OwnItem(own)
        return own
    if declared.kind == "custom":
        return CustomCall(item, index, declared, bridge)
    if declared.kind == "tool_search":
        return ToolSearchCall(item, index, declared, bridge)
    return Call(item, index, declared, bridge)
