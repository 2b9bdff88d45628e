"""Messages: the items of a hub request as the ``messages`` of a Chat Completions body.

Items are a flat list, messages are turns: an assistant message holds its reasoning, text and calls together, and the
results stand directly behind it in the order of the calls, with nothing in between (strict hosts refuse anything
else). So outputs are looked up by call, and what stood between a call and its output moves behind the results.

The same items always give the same messages, and items added behind a finished turn never change earlier messages:
upstream prompt caches live from that.
"""

from __future__ import annotations

from typing import Any

from translators.chat.assistant import Assistant, Thought, fitting_id, in_order
from translators.chat.parts import ATTACHED, NO_OUTPUT, Notes, Parts, tool_arguments
from translators.dialects.base import Dialect
from translators.events import Json
from translators.items import UNMISSED, short_call_id
from translators.links import linked
from translators.reasoning import NATIVE
from translators.surrogates import clean

IMAGES_FOLLOW = "(the attachments are in the next message)"
ITEM_FIELDS: dict[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments"}),
    "function_call_output": frozenset({"type", "call_id", "output"}),
    "reasoning": frozenset({"type", "content", "summary", "encrypted_content", NATIVE}),
}
"""What of each item type has a place in a Chat message; other fields (phase, ..) are left out by rule."""


class MessageBuilder:
    """Builds the messages of one request; ``notes`` collects what was left out or changed."""

    def __init__(self, dialect: Dialect, notes: Notes) -> None:
        self._dialect = dialect
        self._notes = notes
        self._parts = Parts(notes)
        self._messages: list[Json] = []
        self._system: list[str] = []
        self._leading = True
        self._draft: Assistant | None = None
        self._reasoning: list[Thought] = []
        self._extras: dict[str, Json] = {}
        self._items: list[Any] = []
        self._output_of: dict[int, int] = {}
        self._orphans: set[int] = set()

    def build(self, instructions: object, items: object, told: str = "") -> list[Json]:
        """The messages for ``instructions`` (a string, or items) and ``input`` (a string, or items); ``told`` is what
        the proxy itself has to tell the model."""
        self._instructions(instructions)
        if told:
            self._system.append(told)
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        self._items = items if isinstance(items, list) else []
        self._link()
        for index, item in enumerate(self._items):
            self._item(index, item)
        self._end_draft()
        self._drop_reasoning()
        if self._system:
            self._messages.insert(0, {"role": "system", "content": "\n\n".join(self._system)})
        return in_order(self._messages, self._dialect)

    def _instructions(self, instructions: object) -> None:
        if isinstance(instructions, str) and instructions:
            self._system.append(clean(instructions))
        elif isinstance(instructions, list):
            for index, item in enumerate(instructions):
                content = item.get("content") if isinstance(item, dict) else item
                self._system.append(self._parts.text(content, f"instructions[{index}]", "\n\n"))

    def _link(self) -> None:
        """Give each call its output, and note which outputs have no call."""
        self._output_of = linked(self._items)
        outputs = set(self._output_of.values())
        for index, item in enumerate(self._items):
            kind = item.get("type") if isinstance(item, dict) else None
            if kind == "reasoning":
                self._extras.update((item.get(NATIVE) or {}).get("calls") or {})
            elif kind == "function_call_output" and index not in outputs:
                self._orphans.add(index)

    def _item(self, index: int, item: Any) -> None:
        path = f"input[{index}]"
        kind = item.get("type") if isinstance(item, dict) else None
        if kind is None and isinstance(item, dict) and "role" in item:
            kind = "message"
        known = ITEM_FIELDS.get(kind) if isinstance(kind, str) else None
        if known is None:
            self._notes.add("item_left_out", path)
            return
        if not item.keys() <= known:
            for name in item.keys() - known - UNMISSED:
                self._notes.once("item_field_left_out", f"input[].{name}")
        if kind == "message":
            self._message(item, path)
            return
        self._leading = False
        if kind == "reasoning":
            self._take_reasoning(item, path)
        elif kind == "function_call":
            self._call(index, item, path)
        elif index in self._orphans:
            self._orphan(item, path)
        else:
            self._end_draft()  # which writes this output; a call behind it begins the next message

    def _message(self, item: Json, path: str) -> None:
        role, content = item.get("role"), item.get("content")
        if role in ("system", "developer"):
            text = self._parts.text(content, f"{path}.content", "\n\n")
            if not text:
                self._notes.add("empty_message_left_out", path)
            elif self._leading:
                self._system.append(text)
            elif self._dialect.later_system:
                self._plain({"role": "system", "content": text})
            else:
                self._notes.add("later_system_became_user", path)
                self._plain({"role": "user", "content": text})
            return
        self._leading = False
        if role == "assistant":
            self._assistant_text(self._parts.text(content, f"{path}.content", "\n\n"), path)
            return
        if role != "user":
            self._notes.add("role_became_user", path)
        user = self._parts.user_content(content, f"{path}.content")
        if user:
            self._plain({"role": "user", "content": user})
        else:
            self._notes.add("empty_message_left_out", path)

    def _plain(self, message: Json) -> None:
        self._end_draft()
        self._drop_reasoning()
        self._messages.append(message)

    def _assistant_text(self, text: str, path: str) -> None:
        if not text:
            self._notes.add("empty_assistant_left_out", path)
            return
        self._end_draft()
        self._current().texts.append(text)

    def _current(self) -> Assistant:
        """The assistant message in progress, with the reasoning that precedes what is about to be added."""
        if self._draft is None:
            self._draft = Assistant()
        self._draft.thoughts += self._reasoning
        self._reasoning = []
        return self._draft

    def _take_reasoning(self, item: Json, path: str) -> None:
        native = item.get(NATIVE) or {}
        if item.get("encrypted_content"):
            self._notes.add("foreign_reasoning_left_out", f"{path}.encrypted_content")
        content = native.get("text") or self._parts.reasoning(item.get("content"))
        summary = self._parts.reasoning(item.get("summary"))
        if content and summary and not native:
            self._notes.add("reasoning_summary_left_out", f"{path}.summary")
        details = native.get("details") or []
        if self._dialect.replay == "none":
            if content or summary:
                self._notes.add("reasoning_left_out", path)
        elif content or summary or details:
            thought = Thought(content or summary, details, path)
            # Details without words came behind what they belong to.
            late = self._draft is not None and not thought.text
            (self._draft.thoughts if late and self._draft else self._reasoning).append(thought)

    def _drop_reasoning(self) -> None:
        """Reasoning that no assistant message follows has no place to go."""
        for thought in self._reasoning:
            self._notes.add("reasoning_without_message_left_out", thought.path)
        self._reasoning = []

    def _call(self, index: int, item: Json, path: str) -> None:
        arguments, kept = tool_arguments(item.get("arguments"))
        if not kept:
            self._notes.add("tool_arguments_replaced", f"{path}.arguments")
        name, call_id = item.get("name"), item.get("call_id")
        function = {"name": clean(name) if isinstance(name, str) else "", "arguments": arguments}
        given = clean(call_id) if isinstance(call_id, str) and call_id else f"call_{index}"
        identity = fitting_id(short_call_id(given, self._dialect.call_id_limit), self._dialect.call_id_length)
        extra = self._extras.get(given) or {}
        self._current().calls.append((index, {"id": identity, "type": "function", "function": function, **extra}))

    def _end_draft(self) -> None:
        """Write the assistant message and, behind it, the results of all its calls."""
        draft, self._draft = self._draft, None
        message = draft.message(self._dialect) if draft else None
        if draft is None or message is None:
            return
        self._messages.append(message)
        attached: list[Json] = []
        for index, call in draft.calls:
            self._result(index, call["id"], attached)
        if attached:
            self._messages.append({"role": "user", "content": attached})

    def _result(self, index: int, call_id: str, attached: list[Json]) -> None:
        content: Any = NO_OUTPUT
        output = self._output_of.get(index)
        if output is None:
            self._notes.add("missing_tool_output_filled", f"input[{index}]")
        else:
            text, media = self._parts.output(self._items[output].get("output"), f"input[{output}].output")
            if media and self._dialect.images_in_tool_results:
                content = [*([{"type": "text", "text": text}] if text else []), *media]
            elif media:
                content = text or IMAGES_FOLLOW
                attached.append({"type": "text", "text": ATTACHED.format(call_id=call_id)})
                attached += media
            else:
                content = text or NO_OUTPUT
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def _orphan(self, item: Json, path: str) -> None:
        """A result whose call is not in the history: hosts refuse it as such, the model may still need its text."""
        self._notes.add("orphan_tool_output_became_text", path)
        text, media = self._parts.output(item.get("output"), f"{path}.output")
        call_id = item.get("call_id")
        named = f" {clean(call_id)}" if isinstance(call_id, str) and call_id else ""
        said = f"Result of tool call{named}:\n{text or NO_OUTPUT}"
        self._plain({"role": "user", "content": [{"type": "text", "text": said}, *media] if media else said})
