"""A Responses request enters the hub: the hub is this very format, so only its shape is checked, never rewritten."""

from __future__ import annotations

from typing import Any

from translators.events import Json
from translators.failure import Failure

FIELDS: dict[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "a string"),
    "stream": ((bool,), "true or false"),
    "input": ((str, list), "a string or an array of items"),
    "instructions": ((str, list), "a string"),
    "tools": ((list,), "an array of tools"),
    "tool_choice": ((str, dict), "a string or an object"),
    "previous_response_id": ((str,), "a string"),
    "store": ((bool,), "true or false"),
    "background": ((bool,), "true or false"),
    "parallel_tool_calls": ((bool,), "true or false"),
    "reasoning": ((dict,), "an object"),
    "text": ((dict,), "an object"),
    "include": ((list,), "an array of strings"),
    "metadata": ((dict,), "an object"),
    "stream_options": ((dict,), "an object"),
}
"""Fields that the proxy itself reads, with the JSON types it relies on; null counts as absent. Everything else that
a client sends is not looked at here."""


def _invalid(param: str, message: str) -> Failure:
    return Failure("invalid_request_error", message, param=param)


def _check_objects(name: str, values: list[Any], what: str) -> None:
    for index, value in enumerate(values):
        if type(value) is not dict:
            raise _invalid(f"{name}[{index}]", f"{name}[{index}] must be {what}.")


def validate(body: Json) -> None:
    """Check the shape of a ``POST /v1/responses`` body. Raises Failure ``invalid_request_error`` (with ``param``) or
    ``not_available_yet``; messages name fields and never quote values."""
    for name, value in body.items():
        rule = FIELDS.get(name)
        if rule is not None and value is not None and type(value) not in rule[0]:
            raise _invalid(name, f"{name} must be {rule[1]}.")
    if body.get("background"):
        raise Failure("not_available_yet", "Background responses are not available yet.", param="background")
    if body.get("conversation") is not None:
        text = "Conversations are not available yet: continue with previous_response_id or send the whole input."
        raise Failure("not_available_yet", text, param="conversation")
    if body.get("model") == "":
        raise _invalid("model", "model must not be empty.")
    items = body.get("input")
    if items is None:
        if body.get("previous_response_id") is None and body.get("prompt") is None:
            raise _invalid("input", "input is missing: send a string or an array of items.")
    elif type(items) is list:
        _check_objects("input", items, "an object")
    tools = body.get("tools")
    if tools is not None:
        _check_objects("tools", tools, "an object with a type")
