"""Open tool calls: the answer side of the tool bridge.

An upstream only ever calls plain functions. Here such a call becomes again what the client declared (a custom tool, a
member of a namespace, a tool search), its arguments are judged, and its ``*.done`` events are held: a client runs a
call the moment it sees ``response.output_item.done`` (measured with Codex CLI 0.171.0), so they are released only when
the whole upstream response closed properly.
"""

from __future__ import annotations

import orjson

from translators.apply_patch.unwrap import InputReader, UnwrapError
from translators.events import Deltas, Event, Json, StreamEvent
from translators.failure import Failure
from translators.openitem import OpenItem
from translators.tools.arguments import ArgumentsError, judge_function_arguments
from translators.tools.declarations import Declared

ARGUMENTS_DELTA = "response.function_call_arguments.delta"
ARGUMENTS_DONE = "response.function_call_arguments.done"
INPUT_DELTA = "response.custom_tool_call_input.delta"
INPUT_DONE = "response.custom_tool_call_input.done"


CUT_OFF = "the response ended before the call was complete"


def refusal_of(declared: Declared | None, name: str, reason: str) -> Failure:
    """The one failure for a call that must not reach the client. Never holds a byte of the arguments."""
    if declared is not None and declared.is_patch:
        return Failure("invalid_tool_arguments", "Invalid apply_patch tool arguments received from upstream.")
    return Failure(
        "invalid_tool_arguments", f"Invalid arguments for tool {name[:64]!r} received from upstream: {reason}."
    )


class Call(OpenItem):
    """A function call that stays a function call; a namespaced one gets its name and namespace back."""

    holds = True
    raw_kinds: frozenset[str] = frozenset({ARGUMENTS_DELTA})

    def __init__(self, item: Json, index: int, declared: Declared | None, public: Json | None = None) -> None:
        super().__init__(public or item, index)
        self.declared = declared
        self.snapshot: str | None = None
        self._name: str = item["name"]
        self._at_once = _text(item.get("arguments"))
        if declared is not None:
            self.item = self._restored(self.item)

    def _restored(self, item: Json) -> Json:
        declared = self.declared
        if declared is None:
            return item
        named = {**item, "name": declared.name}
        if declared.namespace is not None:
            named["namespace"] = declared.namespace
        return named

    def event(self, event: Event) -> list[StreamEvent]:
        if event.kind == ARGUMENTS_DONE:
            arguments = event.body.get("arguments")
            self.snapshot = arguments if isinstance(arguments, str) else None
            return []
        return super().event(event)

    def blank(self, item: Json | None) -> bool:
        """Whether no argument text came at all: a call without arguments, or one cut off before them. Only the close
        of the response tells which."""
        return not self._arguments(item).strip()

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        self._check(item)
        if self.refused is None and status == "incomplete" and self.blank(item):
            self._refuse(CUT_OFF)
        return [] if self.refused is not None else self._finish(item)

    def _finish(self, item: Json | None) -> list[StreamEvent]:
        arguments = self._judged(item, self.declared.parameters if self.declared else None)
        if arguments is None:
            return []
        given = {key: value for key, value in (item or {}).items() if value is not None}
        self.item = {**self.item, **self._restored(given), "id": self.id, "call_id": self.item["call_id"]}
        self.item["arguments"], self.item["status"] = arguments, "completed"
        self.item["type"], self.item["name"] = "function_call", self.declared.name if self.declared else self._name
        body: Json = {"item_id": self.id, "output_index": self.index, "name": self.item["name"], "arguments": arguments}
        return [Event(ARGUMENTS_DONE, body, held=True), self.done()]

    def _judged(self, item: Json | None, parameters: Json | None) -> str | None:
        try:
            return judge_function_arguments(self._arguments(item) or self._at_once, parameters)
        except ArgumentsError as error:
            self._refuse(str(error))
        return None

    def _refuse(self, reason: str) -> None:
        self.refused = refusal_of(self.declared, self._name, reason)

    def _check(self, item: Json | None) -> None:
        if item is None:
            return
        name = item.get("name")
        if isinstance(name, str) and name and name != self._name:
            self._refuse("its name changed on the way")
        if item.get("status") == "incomplete":
            self._refuse(CUT_OFF)

    def _arguments(self, item: Json | None) -> str:
        """The complete arguments: the final item's, else the snapshot's, else what was streamed or came at once."""
        given = _text((item or {}).get("arguments"))
        if given:
            return given
        if self.snapshot is not None:
            return self.snapshot
        return self.streamed(ARGUMENTS_DELTA, None)


class CustomCall(Call):
    """A call of a custom tool: ``{"input": "..."}`` is opened while it streams and goes out as plain input."""

    raw_kinds = frozenset()

    def __init__(self, item: Json, index: int, declared: Declared) -> None:
        public = {"type": "custom_tool_call", "id": "ctc_" + item["id"].removeprefix("fc_"), "status": "in_progress"}
        public |= {"call_id": item["call_id"], "name": declared.name, "input": ""}
        super().__init__(item, index, declared, public)
        self._reader = InputReader()
        self._live = False

    def blank(self, item: Json | None) -> bool:
        """An empty envelope is no call of a custom tool: nothing to wait for."""
        return False

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        if self.refused is not None or deltas.kind != ARGUMENTS_DELTA:
            return []
        self._live = True
        feed = self._reader.feed
        try:
            texts = [text for delta in deltas.texts if (text := feed(delta))]
        except UnwrapError as error:
            self._refuse(str(error))
            return []
        return [Deltas(INPUT_DELTA, self.id, self.index, None, texts)] if texts else []

    def _finish(self, item: Json | None) -> list[StreamEvent]:
        given = _text((item or {}).get("arguments")) or self.snapshot or (None if self._live else self._at_once)
        try:
            tail = self._reader.finish(given or None)
        except UnwrapError as error:
            self._refuse(str(error))
            return []
        text = self._reader.text()
        self.item = {**self.item, "status": "completed", "input": text}
        out: list[StreamEvent] = [Deltas(INPUT_DELTA, self.id, self.index, None, [tail])] if tail and self._live else []
        body: Json = {"item_id": self.id, "output_index": self.index, "input": text}
        return [*out, Event(INPUT_DONE, body, held=True), self.done()]


class ToolSearchCall(Call):
    """A call of the client's tool search: arguments become the object that ``tool_search_call`` items carry."""

    raw_kinds = frozenset()

    def __init__(self, item: Json, index: int, declared: Declared) -> None:
        public = {"type": "tool_search_call", "id": "tsc_" + item["id"].removeprefix("fc_"), "status": "in_progress"}
        public |= {"call_id": item["call_id"], "execution": "client", "arguments": {}}
        super().__init__(item, index, None, public)
        self._parameters = declared.parameters

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        self.pieces.append(deltas)
        return []

    def _finish(self, item: Json | None) -> list[StreamEvent]:
        arguments = self._judged(item, self._parameters)
        if arguments is None:
            return []
        self.item = {**self.item, "status": "completed", "arguments": orjson.loads(arguments)}
        return [self.done()]


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


class NativeCustomCall(OpenItem):
    """A ``custom_tool_call`` of an upstream that knows custom tools: untouched, but its done events are held."""

    holds = True
    raw_kinds = frozenset({INPUT_DELTA})

    def __init__(self, item: Json, index: int) -> None:
        super().__init__({**item, "input": _text(item.get("input"))}, index)
        self._done: Event | None = None

    def event(self, event: Event) -> list[StreamEvent]:
        if event.kind == INPUT_DONE:
            self._done = event
            return []
        return super().event(event)

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        if (item or {}).get("status") == "incomplete" or (item is None and status == "incomplete" and not self._done):
            self.refused = refusal_of(None, str(self.item.get("name") or ""), CUT_OFF)
            return []
        body: Json = {**self._done.body} if self._done else {}
        given = (item or {}).get("input")
        text = given if isinstance(given, str) else body.get("input")
        if not isinstance(text, str):
            text = self.streamed(INPUT_DELTA, None) or self.item["input"]
        same = ("type", "id", "call_id")
        self.item = {**self.item, **(item or {}), **{key: self.item[key] for key in same}, "input": text}
        self.item["status"] = "completed"
        body |= {"item_id": self.id, "output_index": self.index, "input": text}
        return [Event(INPUT_DONE, body, held=True), self.done()]


class ClientCallItem(OpenItem):
    """A call in a form of its own (local_shell_call, computer_call, ...) that the client executes: done is held."""

    holds = True

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        if item is None or item.get("status") == "incomplete":
            self.refused = refusal_of(None, str(self.item["type"]), CUT_OFF)
            return []
        return super().finish(item, status)


def open_call(item: Json, index: int, declared: Declared | None) -> OpenItem:
    """The open form of a ``function_call`` item that an upstream began."""
    if not item.get("name"):
        return NamelessCall(item, index)
    if declared is None:
        return Call(item, index, None)
    if declared.kind == "custom":
        return CustomCall(item, index, declared)
    if declared.kind == "tool_search":
        return ToolSearchCall(item, index, declared)
    return Call(item, index, declared)


def _text(arguments: object) -> str:
    """Argument text; some hosts send the object itself."""
    if isinstance(arguments, dict):
        return orjson.dumps(arguments).decode()
    return arguments if isinstance(arguments, str) else ""
