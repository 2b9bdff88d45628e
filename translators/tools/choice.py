"""``tool_choice`` in all its forms, rewritten for an upstream that knows only functions and its own hosted tools."""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json, Note
from translators.failure import Failure
from translators.gateway.search import is_web_search
from translators.tools.declarations import TOOL_SEARCH, ToolMap

__all__ = ["convert_choice", "named", "own_names"]

_MODES: Final = frozenset({"auto", "none", "required"})
_PATH: Final = "tool_choice"


def convert_choice(choice: Any, tools: ToolMap) -> tuple[Any, list[Note]]:
    """The upstream's tool_choice and what was changed by rule.

    A hosted tool that was left out is dropped from an ``allowed_tools`` list; when none is left the choice is ``none``,
    for the client allowed no other.
    Raises Failure ``invalid_request_error`` (param ``tool_choice``) for a choice that forces such a tool, that names an
    undeclared tool, or that has no known form.
    """
    if choice is None or (isinstance(choice, str) and choice in _MODES):
        if choice == "required" and tools.left_out and not tools.upstream:
            raise _unavailable(tools.left_out[0])
        return choice, []
    if not isinstance(choice, dict) or not isinstance(choice.get("type"), str):
        raise _refusal("`tool_choice` must be auto, none, required or an object with a `type`.")
    if choice["type"] == "allowed_tools":
        return _allowed(choice, tools)
    if names := own_names(choice, tools):
        return named(names), []
    chosen = _single(choice, tools)
    if chosen is None:
        raise _unavailable(choice["type"])
    return chosen, []


def own_names(choice: Json, tools: ToolMap) -> list[str]:
    """The functions of the proxy's own that a choice of web search or of an MCP server means."""
    if is_web_search(choice["type"]):
        return tools.owned("web_search")
    if choice["type"] == "mcp" and isinstance(choice.get("server_label"), str):
        return tools.owned("mcp", choice["server_label"], choice.get("name"))
    return []


def named(names: list[str]) -> Json:
    """The choice of one of these functions."""
    listed: list[Json] = [{"type": "function", "name": name} for name in names]
    return listed[0] if len(listed) == 1 else {"type": "allowed_tools", "mode": "required", "tools": listed}


def _allowed(choice: Json, tools: ToolMap) -> tuple[Any, list[Note]]:
    listed = choice.get("tools")
    if not isinstance(listed, list):
        raise _refusal("`tool_choice.tools` must be a list of tools.")
    kept: list[Json] = []
    notes: list[Note] = []
    for index, entry in enumerate(listed):
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise _refusal(f"`tool_choice.tools[{index}]` must be an object with a `type`.")
        if names := own_names(entry, tools):
            kept += [{"type": "function", "name": name} for name in names]
            continue
        chosen = _single(entry, tools)
        if chosen is None:
            notes.append(Note("hosted_choice_left_out", f"{_PATH}.tools[{index}]"))
        else:
            kept.append(chosen)
    if notes and not kept and choice.get("mode") == "required":
        raise _unavailable(listed[0]["type"])
    return ({**choice, "tools": kept} if kept or not listed else "none"), notes


def _single(choice: Json, tools: ToolMap) -> Json | None:
    """One tool for the upstream; None when it is a hosted tool that was left out."""
    kind = choice["type"]
    if kind in ("function", "custom"):
        return {"type": "function", "name": _named(choice, tools)}
    search = tools.find(TOOL_SEARCH, None)
    if kind == TOOL_SEARCH and search is not None:
        return {"type": "function", "name": search.flat}
    if any(_same(kind, tool.get("type", "")) for tool in tools.hosted):
        return choice
    if any(_same(kind, left) for left in tools.left_out):
        return None
    raise _refusal("`tool_choice` names a tool type that is not among the declared tools.")


def _named(choice: Json, tools: ToolMap) -> str:
    name, namespace = choice.get("name"), choice.get("namespace")
    if not isinstance(name, str) or not (namespace is None or isinstance(namespace, str)):
        raise _refusal("`tool_choice` must name a tool with a `name` and, for a namespaced one, a `namespace`.")
    declared = tools.find(name, namespace) or (None if namespace else tools.by_flat.get(name))
    if declared is None:
        raise _refusal("`tool_choice` names a tool that is not among the declared tools.")
    return declared.flat


def _same(chosen: str, declared: str) -> bool:
    """Hosted types have dated and suffixed forms (web_search, web_search_preview_2025_03_11): one family."""
    return chosen.startswith(declared) or declared.startswith(chosen)


def _unavailable(kind: str) -> Failure:
    text = f"`tool_choice` forces {kind[:64]!r}, which neither the upstream of this model nor the proxy can run."
    if is_web_search(kind):
        text += " A search of the proxy's own needs a provider in its configuration (tools.web_search), and a"
        text += " declaration without `external_web_access: false`."
    return _refusal(text)


def _refusal(message: str) -> Failure:
    return Failure("invalid_request_error", message, param=_PATH)
