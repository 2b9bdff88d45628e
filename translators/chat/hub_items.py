"""Messages of a Chat Completions request as hub items: the reverse of ``messages.py``."""

from __future__ import annotations

from typing import Any

import orjson

from translators.chat.parts import Notes, is_data
from translators.events import Json
from translators.reasoning import NATIVE
from translators.surrogates import clean_tree

__all__ = ["Items"]

MESSAGE_FIELDS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content", "reasoning"}
)
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Where clients put back the reasoning of an assistant message (vendor fields, absent from OpenAI's types)."""


class Items:
    """Converts the messages of one request."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._items: list[Json] = []
        self._custom: set[str] = set()
        self._open: list[str] = []

    def convert(self, messages: list[Json]) -> list[Json]:
        """The items, in order. What has no place among them is noted."""
        for index, message in enumerate(messages):
            self._message(message, f"messages[{index}]")
        return self._items

    def _message(self, message: Json, path: str) -> None:
        for name in message.keys() - MESSAGE_FIELDS:
            if message[name] is not None:
                self._notes.once("message_field_left_out", f"messages[].{name}")
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            self._assistant(message, path)
        elif role == "tool":
            self._output(message.get("tool_call_id"), content, path)
        elif role == "function":
            self._output(None, content, path)
        else:
            role = role if role in ("system", "developer", "user") else "user"
            self._say(role, self._content(content, path))

    def _say(self, role: str, content: str | list[Json]) -> None:
        if content:
            self._items.append({"type": "message", "role": role, "content": content})

    def _assistant(self, message: Json, path: str) -> None:
        thought = next((message[name] for name in REASONING_FIELDS if _is_text(message.get(name))), None)
        if thought is not None:
            self._items.append({"type": "reasoning", "summary": [], NATIVE: {"text": thought}})
        content = self._content(message.get("content"), path)
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part["type"] == "input_text")
        if _is_text(message.get("refusal")):
            content = content + message["refusal"]
        self._say("assistant", content)
        self._open.clear()
        calls = message.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else ()):
            self._call(call, f"{path}.tool_calls[{place}]")
        legacy = message.get("function_call")
        if isinstance(legacy, dict):
            self._call({"function": legacy}, f"{path}.function_call")

    def _call(self, call: Any, path: str) -> None:
        inner = call.get("function") if isinstance(call, dict) else None
        custom = call.get("custom") if isinstance(call, dict) else None
        if isinstance(custom, dict):
            call_id = self._opened(call)
            self._custom.add(call_id)
            given = {"name": custom.get("name") or "", "input": custom.get("input") or ""}
            self._items.append({"type": "custom_tool_call", "call_id": call_id, **given})
        elif isinstance(inner, dict):
            arguments = inner.get("arguments")
            text = arguments if isinstance(arguments, str) else orjson.dumps(clean_tree(arguments or {})).decode()
            given = {"name": inner.get("name") or "", "arguments": text}
            self._items.append({"type": "function_call", "call_id": self._opened(call), **given})
        else:
            self._notes.add("tool_call_left_out", path)

    def _opened(self, call: Json) -> str:
        """The id of a call that now waits for its output. The deprecated form has none, and some programs send none."""
        given = call.get("id")
        call_id = given if isinstance(given, str) and given else f"call_legacy_{len(self._items)}"
        self._open.append(call_id)
        return call_id

    def _output(self, call_id: Any, content: Any, path: str) -> None:
        """An output; one without an id answers the first call of the last message that still waits."""
        if not _is_text(call_id) and self._open:
            call_id = self._open[0]
        if call_id in self._open:
            self._open.remove(call_id)
        if is_data([content] if isinstance(content, dict) else content):
            self._notes.add("tool_output_became_text", f"{path}.content")
            output: str | list[Json] = orjson.dumps(clean_tree(content)).decode()
        else:
            output = self._content(content, path)
        if isinstance(output, list) and all(part["type"] == "input_text" for part in output):
            output = "\n".join(part["text"] for part in output)
        kind = "custom_tool_call_output" if str(call_id) in self._custom else "function_call_output"
        self._items.append({"type": kind, "call_id": call_id, "output": output})

    def _content(self, content: Any, path: str) -> str | list[Json]:
        """A text, or parts; some clients send one part without a list around it."""
        if isinstance(content, str):
            return content
        parts: list[Json] = []
        given = [content] if isinstance(content, dict) else content
        for index, part in enumerate(given if isinstance(given, list) else ()):
            converted = _part(part)
            if converted is None:
                self._notes.add("content_part_left_out", f"{path}.content[{index}]")
            elif converted.get("text") != "":
                parts.append(converted)
        return parts


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _part(part: Any) -> Json | None:
    """One content part in hub form, None for a kind that is not known."""
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    inner = part.get(kind) if isinstance(kind, str) else None
    if kind in ("text", "refusal"):
        return {"type": "input_text", "text": inner} if isinstance(inner, str) else None
    if kind == "image_url":
        image: Json = inner if isinstance(inner, dict) else {"url": inner}
        detail = {"detail": image["detail"]} if image.get("detail") else {}
        field = next((name for name in ("url", "file_id") if _is_text(image.get(name))), None)
        named = {"url": "image_url", "file_id": "file_id"}
        return {"type": "input_image", named[field]: image[field], **detail} if field is not None else None
    if kind == "input_audio" and isinstance(inner, dict):
        return {"type": "input_audio", "input_audio": inner}
    if kind == "file" and isinstance(inner, dict):
        return {"type": "input_file", **inner}
    return None
