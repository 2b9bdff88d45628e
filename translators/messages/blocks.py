"""The content blocks that one hub item becomes on a Messages stream: written live, closed when the item is done."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from translators.chat.annotations import of_text
from translators.events import Deltas, Json
from translators.holding import Gate
from translators.messages.answer import signed
from translators.messages.search import blocks_of, is_search
from translators.surrogates import clean_tree

__all__ = ["EMPTY", "CallBlock", "ItemBlocks", "SearchBlocks", "TextBlocks", "ThinkingBlock", "delta_of", "frame"]

TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
THOUGHT = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})

EMPTY: dict[str, Json] = {
    "text": {"type": "text_delta", "text": ""},
    "thinking": {"type": "thinking_delta", "thinking": ""},
    "tool_use": {"type": "input_json_delta", "partial_json": ""},
}
"""An empty delta of each kind of block."""


def frame(kind: str, body: Json) -> bytes:
    """One SSE frame. Clients skip frames without an event name."""
    try:
        data = orjson.dumps({"type": kind, **body})
    except TypeError:
        data = orjson.dumps(clean_tree({"type": kind, **body}))
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _start(index: int, block: Json) -> bytes:
    return frame("content_block_start", {"index": index, "content_block": block})


def delta_of(index: int, delta: Json) -> bytes:
    """One delta of a block."""
    return frame("content_block_delta", {"index": index, "delta": delta})


def _texts(index: int, kind: bytes, name: bytes, texts: list[str]) -> list[bytes]:
    """The frames of a run of texts, from one template."""
    head = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
    head %= (index, kind, name)
    dumps = orjson.dumps
    return [b"%b%b}}\n\n" % (head, dumps(text)) for text in texts if text]


def _stop(index: int) -> bytes:
    return frame("content_block_stop", {"index": index})


class ItemBlocks(Protocol):
    """The blocks of one item. ``index`` is that of the next block to be opened, or of the open one plus one; each
    method returns it as it stands afterwards."""

    def deltas(self, deltas: Deltas, index: int, out: list[bytes]) -> int: ...

    def done(self, item: Json, index: int, out: list[bytes]) -> int: ...

    def cut(self, index: int, out: list[bytes]) -> int:
        """The response ended without the item's end."""
        ...

    def no_op(self) -> bytes:
        """An empty delta of the open block; ``b""`` when none is open."""
        ...


class TextBlocks:
    """A message: one text block per part that has any text."""

    def __init__(self) -> None:
        self._part: tuple[str, int | None] | None = None
        self._index = 0
        self._cited: list[Any] = []

    def deltas(self, deltas: Deltas, index: int, out: list[bytes]) -> int:
        if deltas.kind not in TEXT or not any(deltas.texts):
            return index
        if self._part != (deltas.kind, deltas.part):
            index = self.cut(index, out)
            self._part, self._index, self._cited = (deltas.kind, deltas.part), index, []
            out.append(_start(index, {"type": "text", "text": ""}))
            index += 1
        out += _texts(self._index, b"text_delta", b"text", deltas.texts)
        return index

    def cite(self, annotation: Any, citation: Json | None, part: int, out: list[bytes]) -> None:
        """An annotation of the text so far as a citation, if its block is still open; None: it has no form here."""
        if self._part is not None and self._part[1] == part:
            self._cited.append(annotation)
            if citation is not None:
                out.append(delta_of(self._index, {"type": "citations_delta", "citation": citation}))

    def uncited(self, item: Json) -> tuple[int, list[Any]]:
        """The part of the finished item whose block is open, and its annotations that nobody spoke of before: not every
        upstream has events of its own for them."""
        part = self._part[1] if self._part is not None else None
        content = item.get("content") or []
        if part is None or part >= len(content):
            return 0, []
        return part, [each for each in of_text(content[part]) or () if each not in self._cited]

    def done(self, item: Json, index: int, out: list[bytes]) -> int:
        return self.cut(index, out)

    def cut(self, index: int, out: list[bytes]) -> int:
        if self._part is not None:
            out.append(_stop(self._index))
            self._part = None
        return index

    def no_op(self) -> bytes:
        return delta_of(self._index, EMPTY["text"]) if self._part is not None else b""


class ThinkingBlock:
    """A reasoning item: one thinking block with its signature, or a redacted one when there is nothing to read."""

    def __init__(self) -> None:
        self._part: tuple[str, int | None] | None = None
        self._index = 0

    def deltas(self, deltas: Deltas, index: int, out: list[bytes]) -> int:
        if deltas.kind not in THOUGHT or not any(deltas.texts):
            return index
        part = (deltas.kind, deltas.part)
        if self._part is None:
            self._index = index
            out.append(_start(index, {"type": "thinking", "thinking": "", "signature": ""}))
            index += 1
        elif self._part != part:
            out += _texts(self._index, b"thinking_delta", b"thinking", ["\n\n"])
        self._part = part
        out += _texts(self._index, b"thinking_delta", b"thinking", deltas.texts)
        return index

    def done(self, item: Json, index: int, out: list[bytes]) -> int:
        block = signed(item, "x" if self._part is not None else "")
        if block is None:
            return index
        if self._part is not None:
            out.append(delta_of(self._index, {"type": "signature_delta", "signature": block["signature"]}))
            return self.cut(index, out)
        out += (_start(index, block), _stop(index))
        return index + 1

    def cut(self, index: int, out: list[bytes]) -> int:
        if self._part is not None:
            out.append(_stop(self._index))
            self._part = None
        return index

    def no_op(self) -> bytes:
        return delta_of(self._index, EMPTY["thinking"]) if self._part is not None else b""


class SearchBlocks:
    """A search that did not run at the client: when it has ended, what was asked and what was found."""

    def deltas(self, deltas: Deltas, index: int, out: list[bytes]) -> int:
        return index

    def done(self, item: Json, index: int, out: list[bytes]) -> int:
        if not is_search(item):
            return index  # an upstream's own search that opened a page
        use, result = blocks_of(item)
        asked = orjson.dumps(clean_tree(use["input"])).decode()
        out.append(_start(index, {**use, "input": {}}))
        out += _texts(index, b"input_json_delta", b"partial_json", [asked])
        out += (_stop(index), _start(index + 1, result), _stop(index + 1))
        return index + 2

    def cut(self, index: int, out: list[bytes]) -> int:
        return index

    def no_op(self) -> bytes:
        return b""


class CallBlock:
    """A tool call. Its block opens with the first sign of it and ends only when the call was released."""

    def __init__(self, item: Json) -> None:
        self._start = {"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": {}}
        self._custom = item.get("type") == "custom_tool_call"
        self._gate = Gate()
        self._index = -1

    def _opened(self, index: int, out: list[bytes]) -> int:
        if self._index >= 0:
            return index
        self._index = index
        out.append(_start(index, self._start))
        return index + 1

    def _write(self, text: str, out: list[bytes]) -> None:
        out += _texts(self._index, b"input_json_delta", b"partial_json", [text])

    def deltas(self, deltas: Deltas, index: int, out: list[bytes]) -> int:
        index = self._opened(index, out)
        if not self._custom:
            for text in deltas.texts:
                self._write(self._gate.feed(text), out)
        return index

    def done(self, item: Json, index: int, out: list[bytes]) -> int:
        index = self._opened(index, out)
        if self._custom:
            self._write(orjson.dumps({"input": item["input"]}).decode(), out)
        else:
            self._write(self._gate.rest(item["arguments"]), out)
        out.append(_stop(self._index))
        return index

    def cut(self, index: int, out: list[bytes]) -> int:
        """A call that was not released never ends: a client takes a whole block for a call to run."""
        return index

    def no_op(self) -> bytes:
        return delta_of(self._index, EMPTY["tool_use"]) if self._index >= 0 else b""
