"""What providers refuse, as checks of a request body: each returns the provider's own words, or None.

The words are those of public error reports; a check sees the body as it came over the wire.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
Check = Callable[[Json], str | None]


def functions(body: Json) -> list[Json]:
    """The functions of a Chat or Responses body, without their wrapper."""
    return [tool.get("function", tool) for tool in body.get("tools") or [] if tool.get("type") == "function"]


def schemas(node: Any) -> Iterator[Json]:
    """Every object inside a JSON schema."""
    if isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key not in ("enum", "const", "default"):
                yield from schemas(value)
    elif isinstance(node, list):
        for value in node:
            yield from schemas(value)


def refuses(words: str, *fields: str) -> Check:
    """A check for fields that may not be there; ``{}`` in the words becomes the field's name."""

    def check(body: Json) -> str | None:
        for path in fields:
            value: Any = body
            for step in path.split("."):
                value = value.get(step) if isinstance(value, dict) else None
            if value is not None:
                return words.format(path)
        return None

    return check


def streamed(body: Json) -> str | None:
    return None if body.get("stream") is True else "stream must be true"


def at_most(limit: int, words: str) -> Check:
    """The tool limit; ``{0}`` in the words is the count, ``{1}`` the limit."""

    def check(body: Json) -> str | None:
        count = len(body.get("tools") or [])
        return words.format(count, limit) if count > limit else None

    return check


def only_functions(*others: str) -> Check:
    def check(body: Json) -> str | None:
        for index, tool in enumerate(body.get("tools") or []):
            if tool.get("type") not in ("function", *others):
                return f"tools[{index}].type: unknown variant `{tool.get('type')}`, expected `function` at line 1"
            if tool["type"] == "function" and not re.fullmatch(
                r"[A-Za-z][A-Za-z0-9_-]{0,63}", tool.get("function", tool).get("name", "")
            ):
                return f"tools[{index}]: invalid function name"
        return None

    return check


def choices(words: str, *allowed: str) -> Check:
    """The forms of ``tool_choice``: strings, and ``named`` for an object."""

    def check(body: Json) -> str | None:
        choice = body.get("tool_choice")
        form = choice if choice is None or isinstance(choice, str) else "named"
        return None if form is None or form in allowed else words.format(form)

    return check


def efforts(*allowed: str) -> Check:
    """The levels of effort, wherever the body names one."""

    def check(body: Json) -> str | None:
        for effort in (body.get("reasoning_effort"), (body.get("reasoning") or {}).get("effort")):
            if effort is not None and effort not in allowed:
                return f'invalid reasoning value: "{effort}"'
        return None

    return check


def plain_schemas(body: Json) -> str | None:
    """Root objects with properties, no references, no unions at the root."""
    for function in functions(body):
        parameters = function.get("parameters")
        if not isinstance(parameters, dict) or parameters.get("type") != "object" or "properties" not in parameters:
            return 'tools.function.parameters.type is required and must be "object"'
        if any("$ref" in schema for schema in schemas(parameters)):
            return "$ref is not supported in tool parameters"
        if {"anyOf", "oneOf", "allOf"} & parameters.keys():
            return "input_schema does not support oneOf, allOf, or anyOf at the top level"
    return None


def no_booleans(body: Json) -> str | None:
    for function in functions(body):
        for schema in schemas(function.get("parameters")):
            if any(isinstance(each, bool) for each in (schema.get("properties") or {}).values()):
                return "Unrecognized schema: true"
            if isinstance(schema.get("items"), bool):
                return "Unrecognized schema: true"
    return None


def not_recursive(body: Json) -> str | None:
    """Following its references, a schema never comes back to itself."""
    for function in functions(body):
        root = function.get("parameters") or {}
        if _circles(root, root, ()):
            return "Recursive JSON schemas are not currently supported"
    return None


def _circles(node: Any, root: Json, path: tuple[str, ...]) -> bool:
    if isinstance(node, list):
        return any(_circles(each, root, path) for each in node)
    if not isinstance(node, dict):
        return False
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference in path:
            return True
        target: Any = root
        for step in reference.lstrip("#/").split("/"):
            target = (target or {}).get(step)
        if _circles(target, root, (*path, reference)):
            return True
    return any(_circles(value, root, path) for key, value in node.items() if key not in ("$defs", "definitions"))


def moonshot_schemas(body: Json) -> str | None:
    """Moonshot's flavour of JSON schema."""
    said = "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '{}': {}>"
    for function in functions(body):
        root = function.get("parameters") or {}
        if root.get("type") != "object":
            return 'tools.function.parameters.type is required and must be "object"'
        for schema in schemas(root):
            if "anyOf" in schema and "type" in schema:
                return said.format("x", "when using anyOf, type should be defined in anyOf items instead of the parent")
            if "oneOf" in schema or "$ref" in schema:
                return said.format("x", "conflicting keywords found after $ref expansion: description")
            properties = schema.get("properties")
            for name, each in (properties if isinstance(properties, dict) else {}).items():
                if not isinstance(each, dict):
                    return said.format("x", f"property schema for '{name}' must be an object")
                if "type" not in each and "anyOf" not in each:
                    return said.format(name, "type is not defined")
    return None


def adjacent(body: Json) -> str | None:
    """Calls and outputs: the results of all calls of a message directly behind it, none missing, none without."""
    waiting: list[str] = []
    for message in body.get("messages") or []:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return 'messages with role "tool" must be a response to a preceeding message with "tool_calls".'
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return 'An assistant message with "tool_calls" must be followed by tool messages for each "tool_call_id".'
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or []]
    for item in body.get("input") or []:
        if item.get("type") == "function_call_output":
            if item["call_id"] not in waiting:
                return f"No tool call found for function call output with call_id {item['call_id']}."
            waiting.remove(item["call_id"])
        elif item.get("type") == "function_call":
            waiting.append(item["call_id"])
        elif waiting:
            return f"No tool output found for function call {waiting[0]}."
    return None


def roles(*allowed: str) -> Check:
    def check(body: Json) -> str | None:
        for index, message in enumerate(body.get("messages") or []):
            if message["role"] not in allowed:
                return f"messages[{index}].role: unknown variant `{message['role']}`, expected one of `system`, `user`"
        return None

    return check


def one_system(body: Json) -> str | None:
    messages = body.get("messages") or []
    if any(message["role"] == "system" for message in messages[1:]):
        return "invalid params, chat content has invalid message role: system (2013)"
    return None


def spoken(body: Json) -> str | None:
    """Every message says something."""
    for message in body.get("messages") or []:
        if not (message.get("content") or message.get("tool_calls")):
            return "Invalid request content: Each message must have at least one content element."
        for call in message.get("tool_calls") or []:
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                return "invalid params, invalid function arguments json string (2013)"
    return None


def reasoning_back(words: str, *, every: bool, texts: tuple[str, ...]) -> Check:
    """Every assistant message (or every one with calls) brings its reasoning back, and it is one of ``texts``."""

    def check(body: Json) -> str | None:
        for index, message in enumerate(body.get("messages") or []):
            if message["role"] == "assistant" and (every or message.get("tool_calls")):
                if not isinstance(message.get("reasoning_content"), str):
                    return words.format(index)
                if texts and message["reasoning_content"] not in texts:
                    return f"reasoning_content of message {index} is not what was generated"
        return None

    return check


def closed_messages(*allowed: str) -> Check:
    """Message objects take these fields and no others."""

    def check(body: Json) -> str | None:
        for index, message in enumerate(body.get("messages") or []):
            for name in message.keys() - {"role", "content", "tool_calls", "tool_call_id", "name", *allowed}:
                return (
                    f"'messages.{index}' : for 'role:{message['role']}' the following must be satisfied["
                    f"('messages.{index}' : property '{name}' is unsupported, did you mean 'role'?)]"
                )
        return None

    return check


def issued(*blobs: str) -> Check:
    """Encrypted reasoning that came from here."""

    def check(body: Json) -> str | None:
        for item in body.get("input") or []:
            if item.get("type") == "reasoning" and item.get("encrypted_content") not in blobs:
                return "reasoning encrypted_content was not issued to this caller"
        return None

    return check


def call_ids(pattern: str) -> Check:
    def check(body: Json) -> str | None:
        for message in body.get("messages") or []:
            for call in message.get("tool_calls") or []:
                if not re.fullmatch(pattern, call["id"]):
                    return f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
        return None

    return check


def after_tool(body: Json) -> str | None:
    messages = body.get("messages") or []
    for before, message in itertools.pairwise(messages):
        if before["role"] == "tool" and message["role"] not in ("tool", "assistant"):
            return f"Unexpected role '{message['role']}' after role 'tool'"
    return None


def known_fields(*allowed: str) -> Check:
    """A body with these fields only."""

    def check(body: Json) -> str | None:
        for name in body.keys() - set(allowed):
            return f"Extra inputs are not permitted, field: '{name}'"
        return None

    return check


def flat_tools(body: Json) -> str | None:
    """Functions without ``strict``, a hosted tool without foreign fields."""
    for tool in functions(body):
        if tool.get("strict"):
            return "strict is not supported"
    for index, tool in enumerate(body.get("tools") or []):
        if "search_content_types" in tool:
            return f"`tools[{index}].search_content_types` is only supported for web_search_preview tools."
    return None


def reserved(*names: str) -> Check:
    def check(body: Json) -> str | None:
        for function in functions(body):
            if function["name"] in names:
                return f"function name {function['name']} is reserved"
        return None

    return check
