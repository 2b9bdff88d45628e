"""Configuration updates: items by which a client of OpenAI changes its reasoning in the middle of a conversation.

A ``configuration_update`` holds until the next one, above what the request itself says, so that the beginning of the
prompt stays as it was (OpenAI's API reference). Nobody else knows the item, and nobody else needs it: elsewhere the
fields that it changes are no part of the prompt.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json, Note

__all__ = ["applied", "is_configuration_update"]

KIND: Final = "configuration_update"
FIELDS: Final = ("reasoning", "text")
"""What an update may change, each an object whose members count by themselves."""


def is_configuration_update(item: Any) -> bool:
    """Whether an input item changes the configuration."""
    return isinstance(item, dict) and item.get("type") == KIND


def applied(body: Json) -> tuple[Json, list[Note]]:
    """The request with its updates in its own fields and out of its input, each with a note
    ``configuration_update_applied``. The same request if there are none; ``body`` is not changed."""
    items = body.get("input")
    places = [n for n, item in enumerate(items) if is_configuration_update(item)] if isinstance(items, list) else []
    if not isinstance(items, list) or not places:
        return body, []
    changed = {**body, "input": [item for item in items if not is_configuration_update(item)]}
    for place in places:
        for field in FIELDS:
            update = items[place].get(field)
            if isinstance(update, dict):
                before = changed.get(field)
                changed[field] = {**(before if isinstance(before, dict) else {}), **update}
    return changed, [Note("configuration_update_applied", f"input[{place}]") for place in places]
