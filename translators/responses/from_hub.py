"""A hub request to the body for a Responses upstream: nearly itself.

Everything passes untouched, unknown fields included, except what would break the pair: state that lives in this proxy,
identities of the client, and fields that only steer the proxy.
"""

from __future__ import annotations

from translators.dialects.base import Dialect
from translators.events import Json, Note

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


def build(body: Json, model: str, dialect: Dialect) -> tuple[Json, list[Note]]:
    """The upstream body and notes on what was left out. ``input`` is the last key, so that a longer history only
    appends bytes; ``store`` is false because the state lives here."""
    notes = [Note(rule, key) for key, rule in LEFT_OUT.items() if body.get(key) is not None]
    out: Json = {"model": model, "stream": True, "store": False}
    for key, value in body.items():
        if key not in out and key not in LEFT_OUT and key != "input":
            out[key] = value
    given = body.get("input", [])
    out["input"] = _items(given, notes) if isinstance(given, list) else given
    return out, notes


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
