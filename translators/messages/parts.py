"""Parts of the hub (``input_text``, ``input_image``, ..) as content blocks of the Messages API."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from translators.chat.parts import OMITTED, PART_FIELDS, TEXT_FIELDS, Notes
from translators.events import Json
from translators.surrogates import clean

__all__ = ["Blocks", "says"]

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w=.-]+)*?);base64,", re.I)

_PICTURES = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
"""The types of images that are taken, by how their base64 begins. What an image is counts here, not what it is called:
a wrong name is refused, again in every later turn."""
_PDF = "JVBER"
"""How the base64 of a PDF begins. Files also come without the ``data:`` in front (OpenAI's API reference)."""


class Blocks:
    """Converts the content of one request's items."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def of(self, content: Any, path: str) -> list[Json]:
        """The blocks of a content string or list. Texts without a word are refused upstream and left out."""
        if isinstance(content, str):
            return [{"type": "text", "text": clean(content)}] if says(content) else []
        blocks: list[Json] = []
        for index, part in enumerate(content if isinstance(content, list) else ()):
            block = self._block(part, f"{path}[{index}]")
            if block is not None and ("text" not in block or says(block["text"])):
                blocks.append(block)
        return blocks

    def _block(self, part: Any, path: str) -> Json | None:
        if isinstance(part, str):
            return {"type": "text", "text": clean(part)}
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in PART_FIELDS:
            self._notes.add("content_part_left_out", path)
            return None
        for name in part.keys() - PART_FIELDS[kind]:
            self._notes.once("part_field_left_out", f"{kind}.{name}")
        if kind in TEXT_FIELDS:
            text = part.get(TEXT_FIELDS[kind])
            return {"type": "text", "text": clean(text) if isinstance(text, str) else ""}
        block = _image(part) if kind == "input_image" else _document(part) if kind == "input_file" else None
        if block is None:
            self._notes.add("media_left_out", path)
            return {"type": "text", "text": OMITTED[kind]}
        return block


def says(text: str) -> bool:
    """Whether a text has a word: this API refuses blocks of white space alone."""
    return bool(text) and not text.isspace()


def _source(url: str) -> Json | None:
    """Where the bytes are: in a data URL, or at an address that the upstream fetches."""
    match = _DATA.match(url[:256])
    if match is not None:
        return {"type": "base64", "media_type": (match[1] or "image/png").lower(), "data": url[match.end() :]}
    return {"type": "url", "url": url} if url.startswith(("https://", "http://")) else None


def _image(part: Json) -> Json | None:
    url = part.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    source = _source(clean(url)) if isinstance(url, str) else None
    if source is not None and source["type"] == "base64":
        kind, data = source["media_type"], source["data"]
        called = "image/jpeg" if kind == "image/jpg" else kind
        source["media_type"] = next((_PICTURES[each] for each in _PICTURES if data.startswith(each)), called)
        if source["media_type"] not in _PICTURES.values():
            return None
    return None if source is None else {"type": "image", "source": source}


def _document(part: Json) -> Json | None:
    url = part.get("file_data") or part.get("file_url")
    if not isinstance(url, str):
        return None
    source = _source(f"data:application/pdf;base64,{url}" if url.startswith(_PDF) else clean(url))
    if source is None:
        return None
    if source["type"] == "base64" and source["media_type"].startswith("text/"):
        try:
            text = base64.b64decode(source["data"]).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        source = {"type": "text", "media_type": "text/plain", "data": text}
    elif source["type"] == "base64" and source["media_type"] != "application/pdf":
        return None
    title = part.get("filename")
    return {"type": "document", "source": source, **({"title": clean(title)} if isinstance(title, str) else {})}
