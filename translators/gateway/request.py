"""A request whose proxy-run tools are taken out of it, so that functions can stand for them.

Tools that the upstream runs itself stay where they are. Public items of tools that the proxy ran are never a model's
input: it reads the internal call and output behind them, or the pair that an ``mcp_call`` can be turned back into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from translators.events import Json, Note
from translators.gateway.approvals import REQUEST, RESPONSE, Asked, answered, declined, requests
from translators.gateway.own import PLUGIN_LABEL, OwnTool
from translators.gateway.search import cached_only, is_web_search
from translators.tools.namespaces import flat_name

__all__ = ["MCP", "Offer", "function_name", "is_declaration", "take_over"]

MCP: Final = "mcp"
PUBLIC: Final = frozenset({"web_search_call", "mcp_call", "mcp_list_tools", REQUEST, RESPONSE})
NATIVE_WEB_SEARCH: Final = "web_search"
_TAKEN: Final = object()


@dataclass(frozen=True, slots=True)
class Offer:
    """What the proxy can run for one request: the search, the tools of each MCP server by its label, and those of
    plugins by the names of their functions.

    ``configured`` are the labels that the configuration names: no upstream knows them. A plugin's tool is offered
    whether the request declares a function of its name or not: who puts it in here has decided that.
    """

    search: OwnTool | None = None
    mcp: Mapping[str, tuple[OwnTool, ...]] = field(default_factory=dict)
    configured: frozenset[str] = frozenset()
    plugins: Mapping[str, OwnTool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.search is not None or bool(self.mcp) or bool(self.plugins)


def is_declaration(tool: Any) -> bool:
    """Whether this is a tool that the proxy may have to run itself."""
    return _kind(tool) == MCP or is_web_search(_kind(tool))


def function_name(tool: Any) -> str | None:
    """The name of a declared function, also of one in the shape of Chat Completions; None for any other tool."""
    if not isinstance(tool, dict) or tool.get("type", "function") not in ("function", ""):
        return None
    name = tool["name"] if "name" in tool else _function(tool).get("name")
    return name if isinstance(name, str) else None


def take_over(
    body: Json, offer: Offer, *, hosted: frozenset[str], native: bool
) -> tuple[Json, tuple[OwnTool, ...], list[Note]]:
    """The request without what the proxy runs, and the functions that stand for it.

    ``hosted``: tool types that the upstream runs itself; ``native``: it is the API that these tools come from, and runs
    all but the servers that only the configuration names.
    """
    work = _TakeOver(offer, hosted, native)
    tools = body.get("tools")
    if isinstance(tools, list) and (offer or NATIVE_WEB_SEARCH in hosted):
        body = {**body, "tools": work.tools(tools)}
    items = body.get("input")
    if isinstance(items, list) and any(_kind(item) in PUBLIC or _kind(item) == "additional_tools" for item in items):
        body = {**body, "input": work.items(items)}
    own = tuple(dict.fromkeys(work.labels))
    functions = [tool for label in own for tool in (offer.mcp.get(label) or ())]
    found = (*((offer.search,) if work.search and offer.search else ()), *functions, *offer.plugins.values())
    return body, found, work.notes


class _TakeOver:
    def __init__(self, offer: Offer, hosted: frozenset[str], native: bool) -> None:
        self._offer, self._hosted, self._native = offer, hosted, native
        self.search = False
        self.labels: list[str] = []
        self.notes: list[Note] = []

    def tools(self, tools: list[Any]) -> list[Any]:
        """The tools that go up as they are."""
        return [kept for tool in tools if (kept := self._tool(tool)) is not _TAKEN]

    def _tool(self, tool: Any) -> Any:
        kind = _kind(tool)
        if is_web_search(kind) and not self._native and kind not in self._hosted and not cached_only(tool):
            if NATIVE_WEB_SEARCH in self._hosted:
                return {**tool, "type": NATIVE_WEB_SEARCH}
            if self._offer.search is None:
                return tool
            self.search = True
            return _TAKEN
        if self._offer.plugins and function_name(tool) in self._offer.plugins:
            return _TAKEN
        if kind == MCP and self._runs(tool.get("server_label")):
            self.labels.append(tool["server_label"])
            return _TAKEN
        return tool

    def _runs(self, label: Any) -> bool:
        """Whether this server is the proxy's to call."""
        if not isinstance(label, str) or label not in self._offer.mcp:
            return False
        return label in self._offer.configured or not (self._native or MCP in self._hosted)

    def items(self, items: list[Any]) -> list[Any]:
        """The history without public items whose place others take."""
        internal = {item["id"] for item in items if _kind(item) == "function_call" and isinstance(item.get("id"), str)}
        out: list[Any] = []
        asked = requests(items)
        open_ = dict(asked)
        settled = answered(items, RESPONSE)
        for index, item in enumerate(items):
            kind = _kind(item)
            if kind == "additional_tools" and isinstance(item.get("tools"), list):
                kept = self.tools(item["tools"])
                item = item if len(kept) == len(item["tools"]) else {**item, "tools": kept}
            elif kind == RESPONSE:
                identity = str(item.get("approval_request_id"))
                out += self._answer(item, asked.get(identity), identity in open_, index)
                open_.pop(identity, None)
                continue
            elif kind == REQUEST and str(item.get("id")) in settled and not self._keeps(item.get("server_label")):
                continue
            elif kind in PUBLIC:
                out += self._public(item, kind, internal, index)
                continue
            out.append(item)
        return out

    def _public(self, item: Json, kind: str, internal: set[str], index: int) -> list[Json]:
        rest = str(item.get("id")).partition("_")[2]
        if f"fc_{rest}" in internal:
            return []
        if self._keeps(item.get("server_label") if kind.startswith("mcp_") else None):
            return [item]
        if kind == "mcp_call" and isinstance(item.get("name"), str):
            return _pair(item, rest or str(index))
        if kind == "web_search_call" and NATIVE_WEB_SEARCH in self._hosted:
            return [item]
        self.notes.append(Note("gateway_item_left_out", f"input[{index}]"))
        return []

    def _answer(self, item: Json, asked: Asked | None, first: bool, index: int) -> list[Json]:
        """The user's word: a call that was declined is one with an output that says so. An approved one was run, and
        its own item tells of it."""
        if asked is None:
            if self._native:
                return [item]
            self.notes.append(Note("gateway_item_left_out", f"input[{index}]"))
            return []
        if self._keeps(asked.label):
            return [item]
        if item.get("approve") is True or not first:
            return []
        call = {"server_label": asked.label, "name": asked.tool, "arguments": asked.arguments}
        return _pair({**call, "output": declined(item.get("reason"))}, asked.id.partition("_")[2] or str(index))

    def _keeps(self, label: Any) -> bool:
        """Whether items of this server are the upstream's own to read."""
        own = isinstance(label, str) and (label == PLUGIN_LABEL or label in self._offer.configured)
        return self._native and not own


def _pair(item: Json, rest: str) -> list[Json]:
    """An MCP call as function call and output."""
    label, name = item.get("server_label"), item["name"]
    name = name if label == PLUGIN_LABEL else flat_name(f"mcp__{label}", name)
    arguments, output = item.get("arguments"), item.get("output")
    if not isinstance(output, str):
        output = orjson.dumps({"error": item.get("error") or "The call brought no output."}).decode()
    call: Json = {"type": "function_call", "id": f"fc_{rest}", "call_id": f"call_{rest}", "name": name}
    call |= {"arguments": arguments if isinstance(arguments, str) else "{}", "status": "completed"}
    return [
        call,
        {"type": "function_call_output", "id": f"fco_{rest}", "call_id": f"call_{rest}", "output": output},
    ]


def _function(tool: Json) -> Json:
    function = tool.get("function")
    return function if isinstance(function, dict) else {}


def _kind(value: Any) -> Any:
    return value.get("type") if isinstance(value, dict) else None
