"""A hub request to the body for a Responses upstream: nearly itself.

Everything passes untouched, unknown fields included, except what would break the pair: state that lives in this proxy,
identities of the client, and fields that only steer the proxy.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from translators.dialects.base import Dialect
from translators.events import Json, Note
from translators.items import ENCRYPTED, short_call_id
from translators.responses.thoughts import thoughtful

LEFT_OUT: dict[str, str] = {
    "previous_response_id": "state_is_local",
    "conversation": "state_is_local",
    "conversation_id": "state_is_local",
    "background": "state_is_local",
    "generate": "state_is_local",
    "context_management": "state_is_local",
    "stream_options": "stream_is_forced",
    "client_metadata": "client_identity_stays_here",
}
"""Fields that never go up, each by a named rule."""

ITEM_FIELDS_LEFT_OUT = ("internal_chat_message_metadata_passthrough",)
"""Added to every item by Codex when its provider is named "OpenAI" (measured, 0.171.0); private to OpenAI's backend."""

NO_INSTRUCTIONS = "Help the user."
"""For upstreams that must have instructions, from clients that have none."""

NAMELESS = frozenset(
    {"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
)
"""Items that may go without an id (OpenAI's public API reference)."""


def build(body: Json, model: str, dialect: Dialect) -> tuple[Json, list[Note]]:
    """The upstream body and notes on what was left out. ``input`` is the last key, so that a longer history only
    appends bytes; ``store`` is false because the state lives here."""
    notes = [Note(rule, key) for key, rule in LEFT_OUT.items() if body.get(key) is not None]
    out: Json = {"model": model, "stream": True}
    if "store" not in dialect.refused:
        out["store"] = False
    for key, value in body.items():
        if key not in out and key not in LEFT_OUT and key not in ("input", "store"):
            out[key] = value
    if not dialect.encrypted_include:
        _unasked(out, notes)
    given = body.get("input", [])
    if isinstance(given, list):
        given = _items(given, notes)
        given = given if dialect.item_ids else [_nameless(item) for item in given]
        given = given if dialect.call_id_limit is None else [_fitting(item, dialect.call_id_limit) for item in given]
        given = given if dialect.original_images else _smaller(given, notes)
        given = given if dialect.developer_role else [_in_role(item, "developer", "system") for item in given]
        given = given if dialect.system_role else [_in_role(item, "system", "developer") for item in given]
        given = given if dialect.empty_messages else _spoken(given, notes)
        given = given if dialect.items is None else _known(given, dialect.items, notes)
        given = _plainly(given, notes) if dialect.plain_items else given
        given = adjacent(given) if dialect.adjacent_outputs else given
        given = thoughtful(given) if dialect.thoughts_required and _thinks(body) else given
    if dialect.instructions_required and not out.get("instructions"):
        given = _instructed(given, out)
    out["input"] = given
    return out, notes


def _unasked(out: Json, notes: list[Note]) -> None:
    """Take out of ``include`` what brings reasoning; all else that is asked for there stays."""
    include = out.get("include")
    if not isinstance(include, list) or ENCRYPTED not in include:
        return
    out["include"] = [each for each in include if each != ENCRYPTED]
    if not out["include"]:
        del out["include"]
    notes.append(Note("refused_field_left_out", "include"))


def _thinks(body: Json) -> bool:
    reasoning = body.get("reasoning")
    return not isinstance(reasoning, dict) or reasoning.get("effort") != "none"


def _nameless(item: Json) -> Json:
    """An item without its id, which this upstream did not make or takes for one that it has stored."""
    if not isinstance(item, dict) or "id" not in item or item.get("type", "message") not in NAMELESS:
        return item
    return {name: value for name, value in item.items() if name != "id"}


def _fitting(item: Json, limit: int) -> Json:
    call_id = item.get("call_id") if isinstance(item, dict) else None
    return {**item, "call_id": short_call_id(call_id, limit)} if isinstance(call_id, str) else item


def _smaller(items: list[Json], notes: list[Note]) -> list[Json]:
    """The items with images in detail ``high`` where Codex asks for ``original``, which is OpenAI's alone: other hosts
    refuse the value."""
    out = items
    for index, item in enumerate(items):
        for key in ("content", "output"):
            parts = item.get(key) if isinstance(item, dict) else None
            if not isinstance(parts, list) or not any(_is_original(part) for part in parts):
                continue
            out = list(items) if out is items else out
            high = [{**part, "detail": "high"} if _is_original(part) else part for part in parts]
            out[index] = {**out[index], key: high}
            notes.append(Note("image_detail_lowered", f"input[{index}].{key}"))
    return out


def _is_original(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") == "input_image" and part.get("detail") == "original"


def _in_role(item: Json, old: str, new: str) -> Json:
    return {**item, "role": new} if isinstance(item, dict) and item.get("role") == old else item


def _instructed(items: Any, out: Json) -> Any:
    """Set ``instructions`` to the system texts at the beginning; returns the items behind them."""
    texts: list[str] = []
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict) or item.get("role") not in ("system", "developer"):
            break
        content = item.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        said = [part.get("text") for part in parts if isinstance(part, dict)]
        texts.append("\n\n".join(text for text in said if isinstance(text, str)))
    out["instructions"] = "\n\n".join(text for text in texts if text) or NO_INSTRUCTIONS
    return items[len(texts) :] if texts else items


def _spoken(items: list[Json], notes: list[Note]) -> list[Json]:
    """The items without messages that say nothing."""
    mute = {index for index, item in enumerate(items) if _is_mute(item)}
    notes += [Note("empty_message_left_out", f"input[{index}]") for index in sorted(mute)]
    return [item for index, item in enumerate(items) if index not in mute]


def _is_mute(item: Json) -> bool:
    if not isinstance(item, dict) or item.get("type", "message") != "message":
        return False
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    return not content or (bool(parts) and all(isinstance(part, dict) and part.get("text") == "" for part in parts))


def _plainly(items: list[Json], notes: list[Note]) -> list[Json]:
    plain = [_plain(item) if isinstance(item, dict) else item for item in items]
    notes += [Note("item_in_plain_form", f"input[{n}]") for n, item in enumerate(items) if plain[n] is not item]
    return plain


def _plain(item: Json) -> Json:
    """An item without nulls. vLLM reads an assistant's message with parts as one of its own, which must have an id and
    a status; Codex sends neither back (public reports)."""
    if item.get("type", "message") != "message" or item.get("role") != "assistant":
        return item if None not in item.values() else {k: value for k, value in item.items() if value is not None}
    content = item.get("content")
    if isinstance(content, str) and item.keys() == {"role", "content"}:
        return item
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, dict)]
    return {"role": "assistant", "content": "\n\n".join(text for text in texts if isinstance(text, str))}


def _known(items: list[Json], known: frozenset[str], notes: list[Note]) -> list[Json]:
    """Items of types that the upstream takes; it would refuse the request for any other."""
    out: list[Json] = []
    for index, item in enumerate(items):
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if isinstance(kind, str) and kind in known:
            out.append(item)
        else:
            notes.append(Note("item_left_out", f"input[{index}]"))
    return out


def adjacent(items: list[Json]) -> list[Json]:
    """Every run of calls directly followed by its outputs, in the order of the calls; what stood between moves behind.

    Strict upstreams refuse anything else ("No tool output found for ..."). A call without an output stays as it is.
    """
    outputs: dict[str, deque[int]] = {}
    for index, item in enumerate(items):
        call_id = item.get("call_id") if isinstance(item, dict) else None
        if isinstance(call_id, str) and item.get("type") == "function_call_output":
            outputs.setdefault(call_id, deque()).append(index)
    out: list[Json] = []
    moved: set[int] = set()
    run: list[int] = []
    for index, item in enumerate(items):
        call = isinstance(item, dict) and item.get("type") == "function_call"
        if run and not call:
            out += [items[place] for place in run]
            run = []
        if index in moved:
            continue
        out.append(item)
        if call:
            call_id = item.get("call_id")
            waiting = outputs.get(call_id) if isinstance(call_id, str) else None
            while waiting and waiting[0] < index:
                waiting.popleft()
            if waiting:
                run.append(waiting.popleft())
                moved.add(run[-1])
    return [*out, *(items[place] for place in run)]


def _items(items: list[Json], notes: list[Note]) -> list[Json]:
    out = items
    for index, item in enumerate(items):
        for key in ITEM_FIELDS_LEFT_OUT:
            if isinstance(item, dict) and key in item:
                if out is items:
                    out = list(items)
                out[index] = {name: value for name, value in item.items() if name != key}
                notes.append(Note("private_field_left_out", f"input[{index}].{key}"))
    return out
