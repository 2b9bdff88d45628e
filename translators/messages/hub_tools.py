"""Tools of a Messages request in the form of the hub, with their choice."""

from __future__ import annotations

from translators.chat.parts import Notes
from translators.events import Json
from translators.messages.client_tools import client_tool

__all__ = ["choice_to_hub", "search_limit", "tools_to_hub"]

FIELDS = frozenset({"name", "description", "input_schema", "type", "strict"})
CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def tools_to_hub(tools: list[Json], notes: Notes) -> list[Json]:
    """The tools that the client runs as functions, ``web_search`` as the hub's; other server tools run at Anthropic
    only."""
    converted: list[Json] = []
    for index, tool in enumerate(tools):
        path, kind = f"tools[{index}]", tool.get("type")
        if isinstance(kind, str) and kind.startswith("web_search"):
            converted.append(_web_search(tool, path, notes))
        elif (defined := client_tool(tool)) is not None:
            converted.append(defined)
        elif kind not in (None, "custom") or not isinstance(tool.get("name"), str):
            notes.add("hosted_tool_left_out", path)
        else:
            for name in tool.keys() - FIELDS:
                notes.once("tool_field_left_out", f"tools[].{name}")
            converted.append(_function(tool))
    return converted


def _function(tool: Json) -> Json:
    schema = tool.get("input_schema")
    description = {"description": tool["description"]} if tool.get("description") is not None else {}
    parameters = schema if isinstance(schema, dict) and schema else {"type": "object", "properties": {}}
    strict = bool(tool.get("strict"))
    return {"type": "function", "name": tool["name"], **description, "parameters": parameters, "strict": strict}


def _web_search(tool: Json, path: str, notes: Notes) -> Json:
    search: Json = {"type": "web_search"}
    if isinstance(tool.get("allowed_domains"), list):
        search["filters"] = {"allowed_domains": tool["allowed_domains"]}
    if isinstance(tool.get("user_location"), dict):
        search["user_location"] = tool["user_location"]
    if isinstance(tool.get("blocked_domains"), list):
        search["filters"] = {**search.get("filters", {}), "blocked_domains": tool["blocked_domains"]}
    for name in tool.keys() - {"type", "name", "allowed_domains", "blocked_domains", "user_location", "max_uses"}:
        notes.add("tool_field_left_out", f"{path}.{name}")
    return search


def search_limit(tools: list[Json]) -> int | None:
    """How often the search may be used; None: not said."""
    given = (tool.get("max_uses") for tool in tools if str(tool.get("type")).startswith("web_search"))
    return next((limit for limit in given if type(limit) is int and limit > 0), None)


def choice_to_hub(choice: Json | None, hub: Json, notes: Notes) -> None:
    """Set ``tool_choice`` and ``parallel_tool_calls`` of the hub request."""
    if choice is None:
        return
    kind = choice.get("type")
    if kind == "tool" and choice.get("name") == "web_search" and _has_search(hub.get("tools") or []):
        hub["tool_choice"] = {"type": "web_search"}
    elif kind == "tool":
        hub["tool_choice"] = {"type": "function", "name": choice.get("name")}
    elif isinstance(kind, str) and kind in CHOICES:
        hub["tool_choice"] = CHOICES[kind]
    else:
        notes.add("tool_choice_left_out", "tool_choice")
    if choice.get("disable_parallel_tool_use"):
        hub["parallel_tool_calls"] = False


def _has_search(tools: list[Json]) -> bool:
    return any(tool["type"] == "web_search" for tool in tools)
