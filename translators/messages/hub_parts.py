"""Content blocks that are no calls (text, images, documents, search results) as parts of the hub."""

from __future__ import annotations

from typing import Any

from translators.chat.parts import Notes
from translators.events import Json

__all__ = ["PARTS", "kind_of", "part_of"]

PARTS = frozenset({"text", "image", "document", "search_result", "tool_reference"})
OMITTED = {"image": "[image omitted]", "document": "[document omitted]"}


def kind_of(block: Any) -> str:
    """The type of a block, ``""`` for what has none."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def part_of(block: Json, path: str, notes: Notes) -> list[Json]:
    """The hub parts of one block; a source that cannot travel becomes a placeholder, noted."""
    match block["type"]:
        case "text":
            if "citations" in block:
                notes.once("citations_left_out", "content[].citations")
            return [_text(block.get("text"))]
        case "tool_reference":  # what Claude Code's search for tools found; all tools are declared here
            return [_text(f"The tool {block.get('tool_name')} can be called now.")]
        case "search_result":
            inner = block.get("content")
            texts = [each.get("text") for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
            head = " ".join(str(block[name]) for name in ("title", "source") if block.get(name))
            return [_text("\n".join([head, *(text for text in texts if isinstance(text, str))]))]
        case "image":
            part = _image(block.get("source"))
        case _:
            part = _document(block, path, notes)
    if part is None:
        notes.add("media_left_out", path)
        part = [_text(OMITTED[block["type"]])]
    return part


def _text(text: Any) -> Json:
    return {"type": "input_text", "text": text if isinstance(text, str) else ""}


def _image(source: Any) -> list[Json] | None:
    url = _url(source)
    return None if url is None else [{"type": "input_image", "image_url": url}]


def _url(source: Any) -> str | None:
    """A URL for a source: its own, or a data URL."""
    if not isinstance(source, dict):
        return None
    if source.get("type") == "url":
        url = source.get("url")
        return url if isinstance(url, str) else None
    data = source.get("data")
    if source.get("type") != "base64" or not isinstance(data, str):
        return None
    return f"data:{source.get('media_type') or 'image/png'};base64,{data}"


def _document(block: Json, path: str, notes: Notes) -> list[Json] | None:
    source = block.get("source")
    kind = source.get("type") if isinstance(source, dict) else None
    for name in ("context", "citations"):
        if block.get(name):
            notes.once("document_option_left_out", f"document.{name}")
    title = block.get("title") if isinstance(block.get("title"), str) else None
    if not isinstance(source, dict):
        return None
    if kind == "text":
        text = source.get("data")
        return [_text(f"{title}:\n{text}" if title else text)]
    if kind == "content":
        inner = source.get("content")
        if isinstance(inner, str):
            return [_text(inner)]
        parts: list[Json] = []
        for index, each in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(each, dict) and each.get("type") in ("text", "image"):
                parts += part_of(each, f"{path}.source.content[{index}]", notes)
        return parts
    url = _url(source)
    if url is None:
        return None
    where = {"file_url": url} if kind == "url" else {"filename": title or "document.pdf", "file_data": url}
    return [{"type": "input_file", **where}]
