"""Messages with their content blocks as hub items."""

from __future__ import annotations

from typing import Any, Final

import orjson

from translators.chat.parts import Notes, is_data
from translators.events import Json
from translators.messages.hub_parts import PARTS, kind_of, part_of
from translators.messages.search import RESULT, USE, items_of
from translators.surrogates import clean_tree

__all__ = ["BILLING", "Items", "system_text"]

BILLING: Final = "x-anthropic-billing-header:"
"""How the first system block of Claude Code begins: numbers for Anthropic's accounting, in front of everything that a
cache could hold."""


def system_text(system: Any, notes: Notes) -> str:
    """``system`` as one text."""
    if isinstance(system, str):
        return system
    texts: list[str] = []
    for index, block in enumerate(system or ()):
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(text, str):
            notes.add("content_part_left_out", f"system[{index}]")
        elif text.startswith(BILLING):
            notes.add("billing_header_left_out", f"system[{index}]")
        elif text:
            texts.append(text)
        if isinstance(block, dict) and "cache_control" in block:
            notes.once("cache_control_left_out", "system[].cache_control")
    return "\n\n".join(texts)


SUMMED_UP: Final = "Summary of the conversation up to this point:\n\n"


class Items:
    """Converts the messages of one request."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._items: list[Json] = []
        self._parts: list[Json] = []
        self._role = "user"
        self._searches: dict[Any, Json] = {}

    def convert(self, messages: list[Json]) -> list[Json]:
        """The items, in order. What has no place among them is noted."""
        for index, message in enumerate(messages):
            self._message(message, f"messages[{index}]")
        return self._items

    def _message(self, message: Json, path: str) -> None:
        role, content = message.get("role"), message.get("content")
        self._role = role if role in ("assistant", "system") else "user"
        for name in message.keys() - {"role", "content"}:
            self._notes.once("message_field_left_out", f"messages[].{name}")
        if isinstance(content, str):
            if content:
                self._items.append({"type": "message", "role": self._role, "content": content})
            return
        for index, block in enumerate(content if isinstance(content, list) else ()):
            self._block(block, f"{path}.content[{index}]")
        self._flush()
        if self._searches:
            self._searches.clear()
            self._notes.add("search_without_result_left_out", f"{path}.content")

    def _block(self, block: Any, path: str) -> None:
        kind = kind_of(block)
        if isinstance(block, dict) and "cache_control" in block:
            self._notes.once("cache_control_left_out", "content[].cache_control")
        match kind:
            case "tool_use":
                self._add(_call(block))
            case "tool_result":
                self._add(self._result(block, path))
            case kind if kind == USE and block.get("name") == "web_search":
                self._searches[str(block.get("id"))] = block  # it counts when its result comes
            case kind if kind == RESULT and (use := self._searches.pop(str(block.get("tool_use_id")), None)):
                for each in items_of(use, block):
                    self._add(each)
            case "thinking" | "redacted_thinking":
                item = _reasoning(block)
                if item is not None:
                    self._add(item)
            case "compaction" if isinstance(block.get("content"), str):
                self._compacted(block["content"])
            case kind if kind in PARTS:
                self._parts += part_of(block, path, self._notes)
            case _:
                self._notes.add("content_part_left_out", path)

    def _add(self, item: Json) -> None:
        self._flush()
        self._items.append(item)

    def _compacted(self, summary: str) -> None:
        """What Anthropic summed up (beta ``compact-2026-01-12``): it stands for all that was said before it."""
        if self._items or self._parts:
            self._notes.once("compacted_history_left_out", "messages")
        self._items, self._parts = [], []
        self._searches.clear()
        self._items.append({"type": "message", "role": "user", "content": SUMMED_UP + summary})

    def _flush(self) -> None:
        """The parts so far as a message of their own."""
        parts, self._parts = [part for part in self._parts if part.get("text") != ""], []
        if not parts:
            return
        content: Any = parts
        if self._role != "user":  # texts only, and every upstream takes a string from these roles
            content = "\n\n".join(part["text"] for part in parts if part["type"] == "input_text")
        elif len(parts) == 1 and parts[0]["type"] == "input_text":
            content = parts[0]["text"]
        self._items.append({"type": "message", "role": self._role, "content": content})

    def _result(self, block: Json, path: str) -> Json:
        content = block.get("content")
        output: Any = content if isinstance(content, str) else self._output(content, path)
        if block.get("is_error"):
            self._notes.once("tool_error_became_text", "content[].is_error")
            output = _marked(output)
        return {"type": "function_call_output", "call_id": block.get("tool_use_id"), "output": output}

    def _output(self, content: Any, path: str) -> str | list[Json]:
        """The blocks of a result; some clients send one without a list around it, or a value."""
        parts: list[Json] = []
        blocks = [content] if isinstance(content, dict) else content
        if is_data(blocks):
            self._notes.add("tool_output_became_text", f"{path}.content")
            return orjson.dumps(clean_tree(content)).decode()
        for index, part in enumerate(blocks or ()):
            if isinstance(part, str):
                parts.append({"type": "input_text", "text": part})
            elif kind_of(part) in PARTS:
                parts += part_of(part, f"{path}.content[{index}]", self._notes)
            else:
                self._notes.add("content_part_left_out", f"{path}.content[{index}]")
        if all(part["type"] == "input_text" for part in parts):
            return "\n".join(part["text"] for part in parts)
        return parts


def _marked(output: Any) -> Any:
    """A failed result that does not say so gets a word for it: the hub has no flag."""
    text = output if isinstance(output, str) else next((part["text"] for part in output if "text" in part), "")
    if "error" in text[:200].lower():
        return output
    if isinstance(output, str):
        return f"Error: {output}" if output else "Error"
    return [{"type": "input_text", "text": "Error:"}, *output]


def _call(block: Json) -> Json:
    given = block.get("input")
    arguments = orjson.dumps(clean_tree(given if isinstance(given, dict) else {})).decode()
    return {
        "type": "function_call",
        "call_id": block.get("id"),
        "name": block.get("name") or "",
        "arguments": arguments,
    }


def _reasoning(block: Json) -> Json | None:
    """A thinking block, its signature as the opaque content that the hub calls encrypted."""
    if block["type"] == "redacted_thinking":
        data = block.get("data")
        sealed = isinstance(data, str) and data
        return {"type": "reasoning", "summary": [], "encrypted_content": data} if sealed else None
    text, signature = block.get("thinking"), block.get("signature")
    item: Json = {"type": "reasoning", "summary": []}
    if isinstance(text, str) and text:
        item["summary"] = [{"type": "summary_text", "text": text}]
    if isinstance(signature, str) and signature:
        item["encrypted_content"] = signature
    return item if len(item) > 2 or item["summary"] else None
