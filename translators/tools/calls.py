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

    def __init__(self, item: Json, index: int, declared: Declared | None) -> None:
        super().__init__(item, index)
        self.declared = declared
        self.refused: Failure | None = None
        """Why this call must not be released, once that is known."""
        self.snapshot: str | None = None
        if declared is not None:
            self.item = self._restored(item)

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

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        text = self._arguments(item)
        try:
            arguments = judge_function_arguments(text, self.declared.parameters if self.declared else None)
        except ArgumentsError as error:
            self.refused = refusal_of(self.declared, self.item.get("name", ""), str(error))
            return []
        self.item = {**self.item, **self._restored(item or {}), "id": self.id, "call_id": self.item["call_id"]}
        self.item["arguments"], self.item["status"] = arguments, "completed"
        self.item["name"] = self.declared.name if self.declared else self.item.get("name")
        body: Json = {"item_id": self.id, "output_index": self.index, "name": self.item["name"], "arguments": arguments}
        return [Event(ARGUMENTS_DONE, body, held=True), self.done()]

    def _arguments(self, item: Json | None) -> str:
        """The complete arguments: the final item's, else the snapshot's, else what was streamed."""
        given = (item or {}).get("arguments")
        if isinstance(given, dict):
            return orjson.dumps(given).decode()
        if isinstance(given, str) and given:
            return given
        if self.snapshot is not None:
            return self.snapshot
        return self.streamed(ARGUMENTS_DELTA, None)


class CustomCall(Call):
    """A call of a custom tool: ``{"input": "..."}`` is opened while it streams and goes out as plain input."""

    raw_kinds = frozenset()

    def __init__(self, item: Json, index: int, declared: Declared) -> None:
        item_id = item["id"]
        public = {"type": "custom_tool_call", "id": "ctc_" + item_id.removeprefix("fc_"), "status": "in_progress"}
        super().__init__({**public, "call_id": item["call_id"], "name": declared.name, "input": ""}, index, declared)
        self._reader = InputReader()
        self._live = False

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        if self.refused is not None:
            return []
        self._live = True
        feed = self._reader.feed
        try:
            texts = [text for delta in deltas.texts if (text := feed(delta))]
        except UnwrapError as error:
            self.refused = refusal_of(self.declared, self.item["name"], str(error))
            return []
        return [Deltas(INPUT_DELTA, self.id, self.index, None, texts)] if texts else []

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        if self.refused is not None:
            return []
        given = (item or {}).get("arguments") or self.snapshot
        try:
            tail = self._reader.finish(given if isinstance(given, str) else None)
        except UnwrapError as error:
            self.refused = refusal_of(self.declared, self.item["name"], str(error))
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
        super().__init__({**public, "call_id": item["call_id"], "execution": "client", "arguments": {}}, index, None)
        self._parameters = declared.parameters

    def deltas(self, deltas: Deltas) -> list[StreamEvent]:
        self.pieces.append(deltas)
        return []

    def finish(self, item: Json | None, status: str) -> list[StreamEvent]:
        try:
            arguments = judge_function_arguments(self._arguments(item), self._parameters)
        except ArgumentsError as error:
            self.refused = refusal_of(None, "tool_search", str(error))
            return []
        self.item = {**self.item, "status": "completed", "arguments": orjson.loads(arguments)}
        return [self.done()]


class NativeCustomCall(OpenItem):
    """A ``custom_tool_call`` of an upstream that knows custom tools: untouched, but its done events are held."""

    holds = True
    raw_kinds = frozenset({INPUT_DELTA})

    def event(self, event: Event) -> list[StreamEvent]:
        event.held = event.held or event.kind == INPUT_DONE
        return super().event(event)


def open_call(item: Json, index: int, declared: Declared | None) -> OpenItem:
    """The open form of a ``function_call`` item that an upstream began."""
    if declared is None:
        return Call(item, index, None)
    if declared.kind == "custom":
        return CustomCall(item, index, declared)
    if declared.kind == "tool_search":
        return ToolSearchCall(item, index, declared)
    return Call(item, index, declared)
