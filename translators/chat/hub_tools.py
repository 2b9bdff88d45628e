"""Tools of a Chat Completions request in the form of the hub, with their choice, the deprecated functions included."""

from __future__ import annotations

from typing import Any

from translators.chat.parts import Notes
from translators.events import Json

__all__ = ["choice_to_hub", "tools_to_hub"]

_CHOICES = frozenset({"auto", "none", "required"})


def tools_to_hub(body: Json, notes: Notes) -> list[Json]:
    """``tools`` and ``functions`` as Responses tools. Chat functions are not strict unless they say so, which the
    Responses API assumes otherwise."""
    tools: list[Json] = []
    for index, tool in enumerate(body.get("tools") or ()):
        converted = _tool(tool)
        if converted is None:
            notes.add("tool_left_out", f"tools[{index}]")
        else:
            tools.append(converted)
    for index, function in enumerate(body.get("functions") or ()):
        if isinstance(function.get("name"), str):
            tools.append(_function(function))
        else:
            notes.add("tool_left_out", f"functions[{index}]")
    options = body.get("web_search_options")
    return tools if options is None else [*tools, _search(options, notes)]


def _search(options: Json, notes: Notes) -> Json:
    """The search of the Responses API, which the field of this one stands for."""
    search: Json = {"type": "web_search"}
    if isinstance(options.get("search_context_size"), str):
        search["search_context_size"] = options["search_context_size"]
    location = options.get("user_location")
    if isinstance(location, dict) and isinstance(location.get("approximate"), dict):
        search["user_location"] = {"type": "approximate", **location["approximate"]}
    for name in options.keys() - {"search_context_size", "user_location"}:
        notes.add("tool_field_left_out", f"web_search_options.{name}")
    return search


def _tool(tool: Json) -> Json | None:
    kind = tool.get("type")
    inner = tool.get("function") if kind in ("function", None) else tool.get("custom") if kind == "custom" else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return None
    if kind != "custom":
        return _function(inner)
    custom: Json = {"type": "custom", **{key: value for key, value in inner.items() if key != "format"}}
    given = inner.get("format")
    if isinstance(given, dict):
        grammar = given.get("grammar")
        flat = {"type": "grammar", **grammar} if isinstance(grammar, dict) else given
        custom["format"] = flat
    return custom


def _function(function: Json) -> Json:
    parameters = function.get("parameters")
    return {
        "type": "function",
        "name": function["name"],
        **({"description": function["description"]} if function.get("description") is not None else {}),
        "parameters": parameters if isinstance(parameters, dict) and parameters else _no_parameters(),
        "strict": bool(function.get("strict")),
    }


def _no_parameters() -> Json:
    return {"type": "object", "properties": {}}


def choice_to_hub(body: Json, notes: Notes) -> Any:
    """``tool_choice``, else ``function_call``; None when neither says anything."""
    choice = body.get("tool_choice")
    if choice is None:
        choice = body.get("function_call")
        if isinstance(choice, dict):
            return {"type": "function", "name": choice.get("name")}
    if choice is None or (isinstance(choice, str) and choice in _CHOICES):
        return choice
    converted = _choice(choice) if isinstance(choice, dict) else None
    if converted is None:
        notes.add("tool_choice_left_out", "tool_choice")
    return converted


def _choice(choice: Json) -> Json | None:
    kind = choice.get("type")
    inner = choice.get(kind) if isinstance(kind, str) else None
    if not isinstance(inner, dict):
        return None
    if kind in ("function", "custom"):
        return {"type": kind, "name": inner.get("name")}
    if kind != "allowed_tools" or not isinstance(inner.get("tools"), list):
        return None
    named = [_choice(tool) for tool in inner["tools"] if isinstance(tool, dict)]
    return {"type": kind, "mode": inner.get("mode") or "auto", "tools": [tool for tool in named if tool is not None]}
