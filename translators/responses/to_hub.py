"""A Responses request enters the hub: the hub is this very format, so only its shape is checked, never rewritten."""

from __future__ import annotations

from types import NoneType
from typing import Any

from translators.events import Json, Note
from translators.failure import Failure
from translators.responses.compaction import TRIGGER

FIELDS: dict[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "a string"),
    "stream": ((bool,), "true or false"),
    "input": ((str, list), "a string or an array of items"),
    "instructions": ((str, list), "a string"),
    "tools": ((list,), "an array of tools"),
    "tool_choice": ((str, dict), "a string or an object"),
    "previous_response_id": ((str,), "a string"),
    "conversation": ((str, dict), "an id or an object with one"),
    "conversation_id": ((str,), "a string"),
    "context_management": ((list,), "an array of objects"),
    "store": ((bool,), "true or false"),
    "background": ((bool,), "true or false"),
    "parallel_tool_calls": ((bool,), "true or false"),
    "reasoning": ((dict,), "an object"),
    "text": ((dict,), "an object"),
    "include": ((list,), "an array of strings"),
    "metadata": ((dict,), "an object"),
    "stream_options": ((dict,), "an object"),
    "max_output_tokens": ((int, float), "a number of tokens"),
    "max_tool_calls": ((int,), "a number of calls"),
    "generate": ((bool,), "true or false"),
}
"""Fields that the proxy itself reads, with the JSON types it relies on; null counts as absent. Everything else that
a client sends is not looked at here."""


NAMES = ("type", "call_id", "server_label")
"""Fields by which items are told apart and belong together: strings, where they are there at all."""

CONTENT = ("previous_response_id", "conversation", "conversation_id", "prompt")
"""Fields that bring an input of their own."""


def _invalid(param: str, message: str) -> Failure:
    return Failure("invalid_request_error", message, param=param)


def _check_objects(name: str, values: list[Any], what: str) -> None:
    for index, value in enumerate(values):
        if type(value) is not dict:
            raise _invalid(f"{name}[{index}]", f"{name}[{index}] must be {what}.")


def check_items(name: str, values: list[Any]) -> None:
    """Check what a field ``name`` holds as items. Raises Failure ``invalid_request_error`` with the place."""
    _check_objects(name, values, "an object")
    for index, item in enumerate(values):
        for field in NAMES:
            if type(item.get(field)) not in (str, NoneType):
                place = f"{name}[{index}].{field}"
                raise _invalid(place, f"{place} must be a string.")


def _check_trigger(items: list[Json]) -> None:
    for index in range(len(items) - 1):
        if items[index].get("type") == TRIGGER:
            text = "A compaction_trigger must be the last item of the input."
            raise _invalid(f"input[{index}]", text)


def _check_management(entries: list[Any]) -> None:
    _check_objects("context_management", entries, "an object")
    for index, entry in enumerate(entries):
        place = f"context_management[{index}]"
        if entry.get("type") != "compaction":
            raise _invalid(f"{place}.type", f"{place}.type must be compaction, the only kind there is.")
        limit = entry.get("compact_threshold")
        if limit is not None and (type(limit) is not int or limit < 1):
            raise _invalid(f"{place}.compact_threshold", f"{place}.compact_threshold must be a number of tokens.")


def validate(body: Json) -> None:
    """Check the shape of a ``POST /v1/responses`` body. Raises Failure ``invalid_request_error`` (with ``param``);
    messages name fields and never quote values."""
    for name, value in body.items():
        rule = FIELDS.get(name)
        if rule is not None and value is not None and type(value) not in rule[0]:
            raise _invalid(name, f"{name} must be {rule[1]}.")
    if body.get("model") == "":
        raise _invalid("model", "model must not be empty.")
    items = body.get("input")
    if items is None:
        if not any(body.get(name) is not None for name in CONTENT):
            raise _invalid("input", "input is missing: send a string or an array of items.")
    elif type(items) is list:
        check_items("input", items)
        _check_trigger(items)
    if type(body.get("instructions")) is list:
        check_items("instructions", body["instructions"])
    if body.get("context_management") is not None:
        _check_management(body["context_management"])
    tools = body.get("tools")
    if tools is not None:
        _check_objects("tools", tools, "an object with a type")


def to_hub(body: Json) -> tuple[Json, list[Note]]:
    """The body itself, checked by ``validate``: it is a hub request."""
    validate(body)
    return body, []
