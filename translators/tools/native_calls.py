"""Calls that an upstream makes in the client's own form: they stay as they are, but their done events are held."""

from __future__ import annotations

from translators.events import Event, Json, StreamEvent
from translators.openitem import OpenItem
from translators.tools.arguments import argument_text
from translators.tools.calls import CUT_OFF, INPUT_DELTA, INPUT_DONE, refusal_of

__all__ = ["CLIENT_CALLS", "ClientCallItem", "NativeCustomCall"]

CLIENT_CALLS = frozenset({"local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call"})
"""Item types in which an upstream asks the client to act."""


class NativeCustomCall(OpenItem):
    """A ``custom_tool_call`` of an upstream that knows custom tools: untouched, but its done events are held."""

    holds = True
    raw_kinds = frozenset({INPUT_DELTA})

    def __init__(self, item: Json, index: int) -> None:
        super().__init__({**item, "input": argument_text(item.get("input"))}, index)
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
