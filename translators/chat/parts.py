"""Parts: content parts of the hub (``input_text``, ``input_image``, ..) as Chat text and content parts.

Shapes: OpenAI's request types for Responses input items and Chat messages.
"""

from __future__ import annotations

from typing import Any

import orjson

from translators.events import Json, Note
from translators.surrogates import clean, clean_tree, loads

NO_OUTPUT = "(no output)"
"""Many hosts refuse an empty tool message."""
ATTACHED = "Attachments of the result of tool call {call_id}:"
"""What stands before images of a tool's output where they cannot stand in it."""
OMITTED = {"input_image": "[image omitted]", "input_file": "[file omitted]", "input_audio": "[audio omitted]"}
"""What stands where media cannot be sent."""
TEXT_FIELDS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}
PART_FIELDS = {
    **{kind: frozenset({"type", field}) for kind, field in TEXT_FIELDS.items()},
    "input_image": frozenset({"type", "image_url", "detail", "file_id"}),
    "input_file": frozenset({"type", "file_id", "file_data", "filename", "file_url"}),
    "input_audio": frozenset({"type", "input_audio", "data", "format"}),
}

DETAILS = {"auto": "auto", "low": "low", "high": "high", "original": "high"}
"""How closely a model looks at an image: Chat's levels by those of Responses. Hosts refuse any other value; Codex asks
for ``original`` with the names of OpenAI's models, whoever serves them."""


class Notes:
    """The notes of one translation. ``once`` keeps one note per rule and path, for what every item repeats."""

    def __init__(self) -> None:
        self.all: list[Note] = []
        self._seen: set[tuple[str, str]] = set()

    def add(self, rule: str, path: str) -> None:
        """Note one place."""
        self.all.append(Note(rule, path))

    def once(self, rule: str, path: str) -> None:
        """Note a kind of place, the first time only."""
        if (rule, path) not in self._seen:
            self._seen.add((rule, path))
            self.add(rule, path)


class Parts:
    """Converts the content of one request's items."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def text(self, content: object, path: str, joiner: str) -> str:
        """Content for a place that takes text only; media becomes a placeholder."""
        texts: list[str] = []
        for part in self._convert(content, path):
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                kind = "input_image" if part["type"] == "image_url" else f"input_{part['type'].removeprefix('input_')}"
                self._notes.add("media_left_out", path)
                texts.append(OMITTED[kind])
        return joiner.join(text for text in texts if text)

    def user_content(self, content: object, path: str) -> str | list[Json]:
        """Content of a user message: one string when all of it is text (every host takes that), else parts."""
        parts = [part for part in self._convert(content, path) if part["type"] != "text" or part["text"]]
        if all(part["type"] == "text" for part in parts):
            return "\n\n".join(part["text"] for part in parts)
        return parts

    def output(self, output: object, path: str) -> tuple[str, list[Json]]:
        """A tool's output as its text and the media parts that came with it; data is text too, as JSON."""
        if is_data(output):
            self._notes.add("tool_output_became_text", path)
            return orjson.dumps(clean_tree(output)).decode(), []
        parts = self._convert(output, path)
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        return text if text.strip() else "", [part for part in parts if part["type"] != "text"]

    def reasoning(self, parts: object) -> str:
        """The readable text of a reasoning item's ``content`` or ``summary``."""
        texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        return "\n\n".join(clean(text) for text in texts if isinstance(text, str) and text)

    def _convert(self, content: object, path: str) -> list[Json]:
        if isinstance(content, str):
            return [{"type": "text", "text": clean(content)}]
        if not isinstance(content, list):
            return []
        converted: list[Json] = []
        for index, part in enumerate(content):
            self._part(part, f"{path}[{index}]", converted)
        return converted

    def _part(self, part: Any, path: str, converted: list[Json]) -> None:
        if isinstance(part, str):
            converted.append({"type": "text", "text": clean(part)})
            return
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in PART_FIELDS:
            self._notes.add("content_part_left_out", path)
            return
        if not part.keys() <= PART_FIELDS[kind]:
            for name in part.keys() - PART_FIELDS[kind]:
                self._notes.once("part_field_left_out", f"{kind}.{name}")
        field = TEXT_FIELDS.get(kind)
        if field is not None:
            text = part.get(field)
            converted.append({"type": "text", "text": clean(text) if isinstance(text, str) else ""})
            return
        if kind == "input_image" and part.get("detail") and _detail(part) != part["detail"]:
            self._notes.once("image_detail_lowered", "input_image.detail")
        media = _MEDIA[kind](part)
        if media is None:
            self._notes.add("media_left_out", path)
            media = {"type": "text", "text": OMITTED[kind]}
        converted.append(media)


def is_data(output: object) -> bool:
    """Whether a tool's output is neither text nor parts of content, but a value that some clients send as it is."""
    if not isinstance(output, list):
        return output is not None and not isinstance(output, str)
    return any(not isinstance(part, str) and not (isinstance(part, dict) and "type" in part) for part in output)


def tool_arguments(arguments: object) -> tuple[str, bool]:
    """A call's arguments as a JSON object string, and whether they are the original ones, byte for byte.

    Hosts parse the arguments in a history and refuse the request when they are no object.
    """
    if isinstance(arguments, dict):
        return orjson.dumps(clean_tree(arguments)).decode(), True
    if isinstance(arguments, str):
        text = clean(arguments)
        try:
            if isinstance(loads(text.encode()), dict):
                return text, text == arguments
        except ValueError:
            pass
    return "{}", False


def _image(part: Json) -> Json | None:
    url = part.get("image_url")
    if isinstance(url, dict):
        url = url.get("url")
    if not isinstance(url, str) or not url:
        return None  # file_id: Chat has no such image
    image: Json = {"url": clean(url)}
    if (detail := _detail(part)) is not None:
        image["detail"] = detail
    return {"type": "image_url", "image_url": image}


def _detail(part: Json) -> str | None:
    detail = part.get("detail")
    return DETAILS.get(detail) if isinstance(detail, str) else None


def _file(part: Json) -> Json | None:
    if not (part.get("file_data") or part.get("file_id")):
        return None  # file_url: Chat has no such file
    return {"type": "file", "file": {key: part[key] for key in ("filename", "file_data", "file_id") if part.get(key)}}


def _audio(part: Json) -> Json | None:
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        audio = {key: part[key] for key in ("data", "format") if key in part}
    return {"type": "input_audio", "input_audio": audio} if audio.get("data") else None


_MEDIA = {"input_image": _image, "input_file": _file, "input_audio": _audio}
