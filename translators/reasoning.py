"""Reasoning on its way back: what a model needs of its earlier thoughts, in the items that a client replays.

A provider's ``encrypted_content``, a host's ``reasoning_details``, Gemini's signatures of calls and plain reasoning
texts travel in the ``encrypted_content`` of a reasoning item as an envelope that names provider and model. On the way
up each item is treated by one rule:

* our envelope of the same provider: its content goes up in the provider's own form
* our envelope of another provider, or a foreign ``encrypted_content``: what is opaque is left out, a readable text may
  stay (``foreign_reasoning_left_out``)
* an envelope that was changed or comes from another machine: left out (``tampered_reasoning_left_out``)
* no envelope at a call, because the client dropped it: what the proxy remembers of that call
* nothing that a Responses upstream could read: left out, for it would look for such an item among those it has stored,
  and it has stored none ("Item with id 'rs_..' not found", public reports)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from translators import envelope
from translators.dialects.base import Dialect
from translators.events import Json, Note
from translators.surrogates import clean_tree

__all__ = ["CALLS", "NATIVE", "Origin", "Scope", "adopt", "prepare", "seal"]

NATIVE: Final = "x_native"
"""Key of a hub reasoning item that holds an opened envelope (``text``, ``details``, ``calls``) for the Chat builder.
It never leaves the process."""
CALLS: Final = frozenset({"function_call", "custom_tool_call", "tool_search_call", "local_shell_call"})
LIMIT: Final = 8 << 20

Recall = Callable[[str, str], "Json | None"]
"""(scope, call_id) -> what is remembered of that call."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose reasoning it is: the provider's name in the configuration and its model."""

    provider: str
    model: str


def seal(key: bytes, origin: Origin, payload: Json) -> str:
    """The ``encrypted_content`` that carries a payload (``raw``, or ``text``, ``details`` and ``calls``, or ``text``
    and the ``form`` of part that it had)."""
    content = {"p": origin.provider, "m": origin.model, **payload}
    try:
        packed = orjson.dumps(content)
    except TypeError:
        packed = orjson.dumps(clean_tree(content))
    return envelope.seal(key, envelope.REASONING, packed)


def adopt(items: list[Any], origin: Origin, key: bytes) -> list[Any]:
    """The items of a Messages client for an upstream that speaks Messages too: thoughts that came to the client as they
    were signed count as this upstream's own, as they do where bytes stay as they are. The same list if there are none.
    """
    if not any(_has_encrypted(item) and not envelope.is_ours(item["encrypted_content"]) for item in items):
        return items
    return [_adopted(item, origin, key) if _has_encrypted(item) else item for item in items]


def _adopted(item: Json, origin: Origin, key: bytes) -> Json:
    signature = item["encrypted_content"]
    if envelope.is_ours(signature):
        return item
    text = "\n\n".join(part["text"] for part in item.get("summary") or () if isinstance(part.get("text"), str))
    block = (
        {"type": "thinking", "thinking": text, "signature": signature}
        if text
        else {"type": "redacted_thinking", "data": signature}
    )
    raw = orjson.dumps(clean_tree(block)).decode()
    return {**item, "encrypted_content": seal(key, origin, {"raw": raw})}


class Scope:
    """Fingerprint of the user's words before a place in a history: the same call id in another conversation is another
    call (some hosts number their calls from zero)."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._next = 0
        self._hash = hashlib.sha256()

    def at(self, index: int) -> str:
        """The scope of the item at ``index``; indices may only grow."""
        while self._next < index:
            item = self._items[self._next]
            self._next += 1
            if isinstance(item, dict) and item.get("role") == "user":
                for part in _parts(item.get("content")):
                    self._hash.update(part + b"\0")
        return self._hash.hexdigest()

    def end(self) -> str:
        """The scope of what comes behind the history."""
        return self.at(len(self._items))


def prepare(
    items: list[Any],
    origin: Origin,
    key: bytes,
    dialect: Dialect,
    *,
    chat: bool,
    recall: Recall | None,
    unsealed: bool = True,
) -> tuple[list[Any], list[Note]]:
    """The items with their reasoning in the form that this upstream's request translator reads.

    ``recall`` None: nothing is remembered of this provider. ``unsealed``: the client may hold what this upstream sealed
    without an envelope of ours. The same list comes back when there is nothing to do.
    """
    work = _Preparation(items, origin, key, dialect, chat, unsealed)
    remembered = recall if chat else None
    if remembered is None and not any(_has_encrypted(item) or (not chat and _is_reasoning(item)) for item in items):
        return items, []
    for index, item in enumerate(items):
        kind = item.get("type") if isinstance(item, dict) else None
        kind = kind if isinstance(kind, str) else None
        if remembered is not None and kind in CALLS and isinstance(item.get("call_id"), str):
            work.remembered(remembered(work.scope.at(index), item["call_id"]))
        if kind == "reasoning":
            work.reasoning(item, index)
        else:
            work.other(item, kind)
    return work.out, work.notes


class _Preparation:
    def __init__(
        self, items: list[Any], origin: Origin, key: bytes, dialect: Dialect, chat: bool, unsealed: bool
    ) -> None:
        self.out: list[Any] = []
        self.notes: list[Note] = []
        self.scope = Scope(items)
        self._origin, self._key, self._dialect, self._chat = origin, key, dialect, chat
        self._open = unsealed and not chat and dialect.encrypted_reasoning == "open"
        self._thought = False
        """Whether reasoning stands in this turn of the assistant already."""
        self._bereft = False
        """Whether reasoning of this turn was left out on the way to its own provider."""

    def other(self, item: Any, kind: str | None) -> None:
        if kind is None or kind == "message" or kind.endswith("_output"):
            role = item.get("role") if isinstance(item, dict) else None
            self._thought = self._thought and role == "assistant"
            self._bereft = self._bereft and role == "assistant"
        if self._bereft and isinstance(item, dict) and "id" in item:
            # By its id an item that is stored there is missed without its reasoning.
            item = {name: value for name, value in item.items() if name != "id"}
        self.out.append(item)

    def remembered(self, payload: Json | None) -> None:
        """Put what is remembered before a call, as far as the client did not bring it."""
        if payload is None:
            return
        native = {"calls": payload["calls"]} if payload.get("calls") else {}
        if not self._thought:
            native.update({name: payload[name] for name in ("text", "details") if payload.get(name)})
            self._thought = self._thought or bool(native.get("text") or native.get("details"))
        if native:
            self.out.append({"type": "reasoning", "summary": [], NATIVE: native})

    def reasoning(self, item: Json, index: int) -> None:
        sealed = item.get("encrypted_content")
        if not isinstance(sealed, str) or not sealed:
            self._unsealed(item, index)
            return
        bare = {name: value for name, value in item.items() if name != "encrypted_content"}
        if not envelope.is_ours(sealed):
            if self._open:
                self._keep(item)
            else:
                self._foreign(bare, index, {})
            return
        try:
            content = envelope.unseal(self._key, envelope.REASONING, sealed, limit=LIMIT)
            payload: Json = orjson.loads(content)
        except ValueError:
            self._note("tampered_reasoning_left_out", index)
            self._readable(bare)
            return
        if payload.get("p") != self._origin.provider:
            self._foreign(bare, index, payload)
        elif self._chat:
            own = payload.get("m") == self._origin.model
            native = {name: payload[name] for name in ("text", "details", "calls") if payload.get(name)}
            if not own:
                native = {name: value for name, value in native.items() if name == "text"}
            self._keep({**bare, NATIVE: native})
        elif isinstance(payload.get("raw"), str) and self._dialect.encrypted_reasoning != "none":
            self._keep({**bare, "encrypted_content": payload["raw"]})
        elif payload.get("form") and payload.get("text") and self._dialect.encrypted_reasoning != "open":
            self._keep({**bare, "content": [{"type": payload["form"], "text": payload["text"]}]})
        else:
            self._foreign(bare, index, payload)

    def _unsealed(self, item: Json, index: int) -> None:
        """Reasoning in words, or only named."""
        openai = self._dialect.encrypted_reasoning == "open"
        if self._chat or (item.get("content") and not openai):
            self._keep(item)
        else:
            self._note("reasoning_left_out", index)
            self._bereft = self._bereft or openai

    def _foreign(self, bare: Json, index: int, payload: Json) -> None:
        self._note("foreign_reasoning_left_out", index)
        text = payload.get("text")
        if self._chat and text and self._dialect.foreign_reasoning:
            self._keep({**bare, NATIVE: {"text": text}})
        else:
            self._readable(bare)

    def _readable(self, bare: Json) -> None:
        """A Chat builder may use the summary. A Responses upstream takes an item without its content for a reference
        to something it has stored, and refuses."""
        if self._chat and self._dialect.foreign_reasoning:
            self._keep(bare)

    def _keep(self, item: Json) -> None:
        native = item.get(NATIVE) or {}
        if item.get("summary") or item.get("content") or native.get("text") or native.get("details"):
            self._thought = True
        if not self._chat and item.get("content", ()) is None:
            # Codex writes it, and servers other than OpenAI's refuse it (public reports).
            item = {name: value for name, value in item.items() if name != "content"}
        self.out.append(item)

    def _note(self, rule: str, index: int) -> None:
        self.notes.append(Note(rule, f"input[{index}].encrypted_content"))


def _is_reasoning(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "reasoning"


def _has_encrypted(item: Any) -> bool:
    return _is_reasoning(item) and bool(item.get("encrypted_content"))


def _parts(content: Any) -> list[bytes]:
    """A user's words, the same whether they came as a string or as one part of text."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) and len(part) == 2 else part for part in parts]
    return [_bytes(part if text is None else text) for part, text in zip(parts, texts, strict=True)]


def _bytes(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(clean_tree(value))
