"""Turns: the items of a hub request as the ``messages`` of a Messages body.

Roles alternate; an assistant message holds thoughts, text and calls together, and the results of all its calls stand at
the head of the one user message behind it (anything else is refused: "tool_use ids were found without tool_result
blocks"). The same items always give the same messages.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import orjson

from translators.chat.assistant import GO_ON
from translators.chat.parts import ATTACHED, NO_OUTPUT, Notes, Parts, is_data, tool_arguments
from translators.events import Json
from translators.items import UNMISSED
from translators.links import linked
from translators.messages.parts import Blocks
from translators.surrogates import clean

__all__ = ["Turns"]

FIELDS: dict[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments"}),
    "function_call_output": frozenset({"type", "call_id", "output"}),
    "reasoning": frozenset({"type", "encrypted_content", "summary", "content"}),
}
"""What of each item type has a place in a message; other fields (phase, ..) are left out by rule."""
FOLLOWS = "(the attachments follow)"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Turns:
    """Builds the messages of one request; ``notes`` collects what was left out or changed. ``later_system``: a system
    message may stand behind the first user message. ``text_results``: results are texts, and images stand behind them.
    """

    def __init__(self, notes: Notes, *, later_system: bool, text_results: bool = False) -> None:
        self._notes = notes
        self._blocks = Blocks(notes)
        self._texts = Parts(notes)
        self._later_system = later_system
        self._text_results = text_results
        self._messages: list[Json] = []
        self._system: list[str] = []
        self._results: dict[str, int] = {}
        self._uses: dict[str, int] = {}
        self._waiting: list[str] = []
        self._said: list[Json] = []

    def build(self, instructions: Any, items: Any) -> tuple[list[str], list[Json]]:
        """The system texts, and the messages for ``input`` (a string, or items)."""
        if isinstance(instructions, str) and instructions:
            self._system.append(clean(instructions))
        elif isinstance(instructions, list):
            self._system += [self._texts.text(item.get("content"), "instructions", "\n\n") for item in instructions]
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        self._items: list[Any] = items if isinstance(items, list) else []
        self._outputs = linked(self._items)
        self._answered = set(self._outputs.values())
        for index, item in enumerate(self._items):
            self._item(index, item)
        self._answer()
        self._ends()
        return self._system, self._messages

    def _item(self, index: int, item: Any) -> None:
        path = f"input[{index}]"
        kind = item.get("type", "message" if "role" in item else None) if isinstance(item, dict) else None
        known = FIELDS.get(kind) if isinstance(kind, str) else None
        if known is None:
            self._notes.add("item_left_out", path)
            return
        for name in item.keys() - known - UNMISSED:
            self._notes.once("item_field_left_out", f"input[].{name}")
        match kind:
            case "message":
                self._message(item, path)
            case "reasoning":
                self._thought(item, path)
            case "function_call":
                self._call(index, item, path)
            case _ if index not in self._answered:
                self._orphan(item, path)
            case _:
                pass  # written behind its call

    def _message(self, item: Json, path: str) -> None:
        role, content = item.get("role"), item.get("content")
        if role in ("system", "developer"):
            text = self._texts.text(content, f"{path}.content", "\n\n")
            if text and not self._messages:
                self._system.append(text)
            elif text:
                self._later(text, path)
        elif role == "assistant":
            text = self._texts.text(content, f"{path}.content", "\n\n")
            if text.strip():
                self._assistant({"type": "text", "text": text})
        else:
            self._user(self._blocks.of(content, f"{path}.content"))

    def _later(self, text: str, path: str) -> None:
        self._answer()
        last = self._messages[-1]
        if self._later_system and last["role"] == "user":
            self._messages.append({"role": "system", "content": text})
            return
        if last["role"] == "system":
            last["content"] += f"\n\n{text}"
            return
        self._notes.add("later_system_became_user", path)
        self._user([{"type": "text", "text": text}])

    def _user(self, blocks: list[Json]) -> None:
        self._answer()
        if not blocks:
            return
        if self._messages and self._messages[-1]["role"] == "system":
            self._unheard()
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": "user", "content": blocks})

    def _unheard(self) -> None:
        """A system message that no assistant message follows is users' text: "role 'system' must precede an 'assistant'
        message or end the array" (public reports)."""
        self._notes.add("later_system_became_user", "input")
        told = self._messages.pop()
        self._messages[-1]["content"].append({"type": "text", "text": told["content"]})

    def _assistant(self, block: Json) -> None:
        """One more block of the assistant; behind calls that have their results a new message begins."""
        if self._waiting and block["type"] != "tool_use":
            self._answer()
        if not self._messages:
            self._user([{"type": "text", "text": GO_ON}])
        if self._messages[-1]["role"] != "assistant":
            self._messages.append({"role": "assistant", "content": []})
        self._messages[-1]["content"].append(block)

    def _thought(self, item: Json, path: str) -> None:
        """The block itself travels in ``encrypted_content``; a thought without one would not be believed."""
        try:
            block = orjson.loads(item.get("encrypted_content") or "")
        except orjson.JSONDecodeError:
            block = None
        if isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking"):
            self._assistant(block)
        else:
            self._notes.add("reasoning_left_out", path)

    def _call(self, index: int, item: Json, path: str) -> None:
        arguments, kept = tool_arguments(item.get("arguments"))
        if not kept:
            self._notes.add("tool_arguments_replaced", f"{path}.arguments")
        if self._waiting and self._answered_before(index):
            self._answer()
        identity = self._unique(fitting_id(item.get("call_id"), index))
        name = item.get("name")
        use: Json = {"type": "tool_use", "id": identity, "name": clean(name) if isinstance(name, str) else ""}
        self._assistant({**use, "input": orjson.loads(arguments)})
        self._waiting.append(identity)
        self._results[identity] = self._outputs.get(index, -1)

    def _unique(self, identity: str) -> str:
        """An id that no earlier call has: here each may occur once in a whole history, and hosts of other formats
        repeat theirs. The same history gives the same ids."""
        before = self._uses.get(identity, 0)
        self._uses[identity] = before + 1
        return self._unique(fitting_id(f"{identity}#{before}", 0)) if before else identity

    def _answered_before(self, index: int) -> bool:
        """Whether a result of a waiting call stands before this place: then the next call is another turn's."""
        return any(0 <= self._results[identity] < index for identity in self._waiting)

    def _answer(self) -> None:
        """Write the results of all waiting calls."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            results = [self._result(identity) for identity in waiting]
            attached = self._attachments(results) if self._text_results else []
            self._messages.append({"role": "user", "content": [*results, *attached]})

    def _attachments(self, results: list[Json]) -> list[Json]:
        """Take what is no text out of these results; returns the blocks that bring it behind them."""
        attached: list[Json] = []
        for result in results:
            blocks = result["content"]
            media = [block for block in blocks if block["type"] != "text"] if isinstance(blocks, list) else []
            if media:
                texts = "\n".join(block["text"] for block in blocks if block["type"] == "text")
                result["content"] = texts or FOLLOWS
                attached.append({"type": "text", "text": ATTACHED.format(call_id=result["tool_use_id"])})
                attached += media
        return attached

    def _result(self, identity: str) -> Json:
        place = self._results.pop(identity)
        result: Json = {"type": "tool_result", "tool_use_id": identity}
        if place < 0:
            self._notes.add("missing_tool_output_filled", "input")
            return {**result, "content": NO_OUTPUT}
        output, path = self._items[place].get("output"), f"input[{place}].output"
        if is_data(output):
            return {**result, "content": self._texts.output(output, path)[0]}
        blocks = self._blocks.of(output, path)
        if all(block["type"] == "text" for block in blocks):
            return {**result, "content": "\n".join(block["text"] for block in blocks)}
        return {**result, "content": blocks}

    def _orphan(self, item: Json, path: str) -> None:
        """A result whose call is not in the history is refused as such; the model may still need its text."""
        self._notes.add("orphan_tool_output_became_text", path)
        said = [{"type": "text", "text": "Result of an earlier tool call:"}]
        self._user([*said, *self._blocks.of(item.get("output"), f"{path}.output")])

    def _ends(self) -> None:
        """The last word is the user's: newer models refuse to go on with the assistant's own."""
        if not self._messages or self._messages[-1]["role"] == "assistant":
            self._notes.add("user_turn_added", "input")
            self._user([{"type": "text", "text": GO_ON}])


def fitting_id(call_id: Any, index: int) -> str:
    """A call id in the form that is taken, the same for the same id."""
    given = call_id if isinstance(call_id, str) and call_id else f"call_{index}"
    if _ID.fullmatch(given):
        return given
    return "call_" + sha256(given.encode("utf-8", "replace")).hexdigest()[:32]
