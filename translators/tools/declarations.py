"""Finding the tools a request declares, wherever they stand, and settling the function name of each.

Sources in order: top-level ``tools``, then the ``tools`` of ``additional_tools`` and ``tool_search_output`` items in
``input`` (Codex never moves the tools it found into ``tools``); namespaces may stand in any of them. What a later
item declares is appended and never changes what an earlier one settled, so a growing history only ever appends to
the list of upstream tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from translators.events import Json, Note
from translators.failure import Failure
from translators.gateway.own import OwnTool
from translators.gateway.search import cached_only, is_web_search
from translators.tools.custom import bridge_description, bridge_parameters, grammar_of
from translators.tools.namespaces import fingerprinted, flat_name

__all__ = ["Collector", "Declared", "ToolMap", "collect", "opened"]

Kind: TypeAlias = Literal["function", "custom", "tool_search"]
Key: TypeAlias = tuple[str | None, str]

_KNOWN_KEYS: Final[dict[Kind, frozenset[str]]] = {
    "function": frozenset({"type", "function", "name", "description", "parameters", "strict"}),
    "custom": frozenset({"type", "name", "description", "format"}),
    "tool_search": frozenset({"type", "execution", "description", "parameters"}),
}
TOOL_SEARCH: Final = "tool_search"
IN_BACKGROUND: Final = (
    "Runs in the background: a call brings no result at once, it will follow. Until then neither guess it nor call "
    "again."
)
"""What a model is told of a tool whose calls are asynchronous."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One tool as the client declared it and as the upstream sees it.

    ``flat`` is the upstream's function name; ``parameters`` the JSON schema (None for custom tools); ``own`` is set for
    a function that the proxy runs itself; ``later``: the client answers its calls in any later turn.
    """

    kind: Kind
    name: str
    namespace: str | None
    flat: str
    parameters: Json | None
    own: OwnTool | None = None
    later: bool = False

    @property
    def is_patch(self) -> bool:
        """The one custom tool with extra knowledge: grammar help and repair."""
        return self.kind == "custom" and self.name.strip() == "apply_patch"


class ToolMap:
    """The tools of one request. Made by ``collect`` or ``to_functions``; only read afterwards.

    ``functions``: upstream tools in Responses function form (``description`` and ``strict`` only where declared);
    ``hosted``: hosted tools that the upstream runs, untouched; ``upstream``: both, in the order that stays a prefix
    while the history grows; ``left_out``: types of the hosted tools that were left out.
    """

    __slots__ = ("_by_key", "by_flat", "functions", "hosted", "left_out", "upstream")

    def __init__(self) -> None:
        self.functions: list[Json] = []
        self.hosted: list[Json] = []
        self.upstream: list[Json] = []
        self.left_out: list[str] = []
        self.by_flat: dict[str, Declared] = {}
        self._by_key: dict[Key, Declared] = {}

    def find(self, name: str, namespace: str | None) -> Declared | None:
        """The declared tool with the client's own name; an empty namespace is none."""
        return self._by_key.get((namespace or None, name))

    @property
    def has_patch(self) -> bool:
        """Whether the client declared a custom apply_patch."""
        return any(tool.is_patch for tool in self.by_flat.values())

    def flat(self, name: str, namespace: str | None) -> str:
        """The upstream's name of a tool, by the same rule when it is not declared (any more)."""
        declared = self.find(name, namespace)
        return declared.flat if declared else flat_name(namespace, name)

    def copy(self) -> ToolMap:
        """A map of its own with the same tools; the tools themselves are shared."""
        copy = ToolMap()
        copy.functions, copy.hosted = [*self.functions], [*self.hosted]
        copy.upstream, copy.left_out = [*self.upstream], [*self.left_out]
        copy.by_flat, copy._by_key = {**self.by_flat}, {**self._by_key}
        return copy

    def adopt(self, tools: Sequence[OwnTool]) -> None:
        """Functions that the proxy runs, behind what is declared so far and never under a name that is taken."""
        for own in tools:
            key: Key = (None, own.name)
            flat = own.name if own.name not in self.by_flat else _free_fingerprint(key, frozenset(self.by_flat))
            self.by_flat[flat] = Declared("function", own.name, None, flat, own.parameters, own)
            function: Json = {"type": "function", "name": flat, "description": own.description}
            function["parameters"] = own.parameters
            self.functions.append(function)
            self.upstream.append(function)

    def owned(self, kind: str, label: Any = None, tool: Any = None) -> list[str]:
        """The names of the proxy's own functions of a kind; of one MCP server, or of one tool of it."""
        return [
            flat
            for flat, declared in self.by_flat.items()
            if (own := declared.own) is not None
            and own.kind == kind
            and (label is None or own.label == label)
            and (tool is None or own.tool == tool)
        ]

    def _add(self, key: Key, declared: Declared, function: Json) -> None:
        self._by_key[key] = declared
        self.by_flat[declared.flat] = declared
        self.functions.append(function)
        self.upstream.append(function)

    def _keep(self, hosted: list[Json]) -> None:
        self.hosted.extend(hosted)
        self.upstream.extend(hosted)


def collect(body: Json, *, hosted: frozenset[str]) -> tuple[ToolMap, list[Note]]:
    """Every tool that the request declares. ``hosted``: the tool types that the upstream runs itself.

    Raises Failure ``invalid_request_error`` when ``tools`` is not a list or one of its entries is not an object.
    """
    collector = Collector(hosted)
    items = body.get("input")
    rest = collector.open(body)
    if isinstance(items, list):
        for index in range(rest, len(items)):
            collector.item(items[index], index)
    return collector.map, collector.notes


def opened(body: Json, hosted: frozenset[str]) -> tuple[Collector, int]:
    """A collector that has read the stable part of a request (see ``Collector.open``), and how many items that were.

    Clients send the same tools with every request, so the result is remembered by the JSON of the tools.
    """
    items = body.get("input")
    lead = items[0] if isinstance(items, list) and items and _type(items[0]) == "additional_tools" else None
    try:
        key = orjson.dumps([body.get("tools"), lead])
    except TypeError:  # half a surrogate pair somewhere: rare, and no reason to fail
        collector = Collector(hosted)
        return collector, collector.open(body)
    collector, read = _opened(key, hosted)
    return collector.copy(), read


@lru_cache(maxsize=32)
def _opened(key: bytes, hosted: frozenset[str]) -> tuple[Collector, int]:
    tools, lead = orjson.loads(key)
    collector = Collector(hosted)
    read = collector.open({"tools": tools, "input": [] if lead is None else [lead]})
    return collector, read


@dataclass(slots=True)
class _Found:
    kind: Kind
    key: Key
    tool: Json
    path: str


class Collector:
    """Walks the sources in order and keeps ``map`` and ``notes`` up to date after each."""

    def __init__(self, hosted: frozenset[str]) -> None:
        self.map = ToolMap()
        self.notes: list[Note] = []
        self._hosted = hosted
        self._found: list[_Found] = []
        self._kept: list[Json] = []

    def copy(self) -> Collector:
        """A collector that goes on from the same place."""
        copy = Collector(self._hosted)
        copy.map, copy.notes = self.map.copy(), [*self.notes]
        return copy

    def open(self, body: Json) -> int:
        """Top-level tools, settled together with those of a leading ``additional_tools`` item: they are equally
        stable. Returns how many input items were read."""
        tools = body.get("tools")
        if tools is not None and not isinstance(tools, list):
            raise Failure("invalid_request_error", "`tools` must be a list of tools.", param="tools")
        for index, tool in enumerate(tools or ()):
            if not isinstance(tool, dict):
                raise Failure("invalid_request_error", f"`tools[{index}]` must be an object.", param=f"tools[{index}]")
        self._walk(tools or [], "tools", None)
        items = body.get("input")
        read = 0
        if isinstance(items, list) and items and _type(items[0]) == "additional_tools":
            self._walk_item(items[0], 0)
            read = 1
        self._settle()
        return read

    def item(self, item: Any, index: int) -> list[str]:
        """The tools of one input item, if it declares any; returns their flat names, in order, once each."""
        if _type(item) not in ("additional_tools", "tool_search_output"):
            return []
        keys = self._walk_item(item, index)
        self._settle()
        return [self.map.flat(name, namespace) for namespace, name in dict.fromkeys(keys)]

    def _walk_item(self, item: Json, index: int) -> list[Key]:
        tools = item.get("tools")
        path = f"input[{index}].tools"
        if isinstance(tools, list):
            return self._walk(tools, path, None)
        if tools is not None:
            self.notes.append(Note("malformed_tool_left_out", path))
        return []

    def _walk(self, tools: list[Any], path: str, namespace: str | None) -> list[Key]:
        keys: list[Key] = []
        for index, tool in enumerate(tools):
            keys += self._tool(tool, f"{path}[{index}]", namespace)
        return keys

    def _tool(self, tool: Any, path: str, namespace: str | None) -> list[Key]:
        kind = tool.get("type", "function") if isinstance(tool, dict) else None
        match kind:
            case "function" | "" | "custom":
                return self._named("custom" if kind == "custom" else "function", tool, path, namespace)
            case "namespace":
                return self._namespace(tool, path, namespace)
            case "tool_search" if namespace is None and tool.get("execution") == "client":
                return self._candidate(_Found(TOOL_SEARCH, (None, TOOL_SEARCH), tool, path))
            case str():
                self._hosted_tool(tool, kind, path, namespace)
            case _:
                self.notes.append(Note("malformed_tool_left_out", path))
        return []

    def _named(self, kind: Kind, tool: Json, path: str, namespace: str | None) -> list[Key]:
        nested = tool.get("function")
        if "name" not in tool and kind == "function" and isinstance(nested, dict):
            tool = nested  # the Chat Completions shape
        name = tool.get("name")
        if not isinstance(name, str) or not name.strip():
            self.notes.append(Note("malformed_tool_left_out", path))
            return []
        return self._candidate(_Found(kind, (namespace, name), tool, path))

    def _namespace(self, tool: Json, path: str, outer: str | None) -> list[Key]:
        name = tool.get("name")
        field = "tools" if "tools" in tool else "children"
        children = tool.get(field)
        if outer is not None or not isinstance(name, str) or not name.strip() or not isinstance(children, list):
            self.notes.append(Note("malformed_tool_left_out", path))
            return []
        if tool.get("description"):
            self.notes.append(Note("namespace_description_left_out", f"{path}.description"))
        self._left_keys(tool, frozenset({"type", "name", "description", field}), path)
        return self._walk(children, f"{path}.{field}", name)

    def _hosted_tool(self, tool: Json, kind: str, path: str, namespace: str | None) -> None:
        if kind not in self._hosted or namespace is not None or cached_only(tool):
            self.map.left_out.append(kind)
            rule = "web_search_left_out" if is_web_search(kind) else "hosted_tool_left_out"
            self.notes.append(Note(rule, path))
        elif tool in self.map.hosted or tool in self._kept:
            self.notes.append(Note("duplicate_tool_left_out", path))
        else:
            self._kept.append(tool)

    def _candidate(self, found: _Found) -> list[Key]:
        self._found.append(found)
        return [found.key]

    def _settle(self) -> None:
        """Name what was found since the last time, leaving out what is declared already."""
        fresh: dict[Key, _Found] = {}
        for found in self._found:
            if found.key in fresh or self.map.find(found.key[1], found.key[0]):
                self.notes.append(Note("duplicate_tool_left_out", found.path))
            else:
                fresh[found.key] = found
        names = _names(list(fresh), frozenset(self.map.by_flat))
        for key, found in fresh.items():
            function, parameters = self._function(found, names[key])
            declared = Declared(found.kind, key[1], key[0], names[key], parameters, later=_is_later(found.tool))
            self.map._add(key, declared, function)
        self.map._keep(self._kept)
        self._found, self._kept = [], []

    def _function(self, found: _Found, flat: str) -> tuple[Json, Json | None]:
        """The upstream's declaration, and the schema that the client gave."""
        tool, path = found.tool, found.path
        function: Json = {"type": "function", "name": flat}
        description = tool.get("description")
        if not isinstance(description, str):
            if description is not None:
                self.notes.append(Note("tool_key_left_out", f"{path}.description"))
            description = None
        later = _is_later(tool)
        if later:
            description = f"{description}\n\n{IN_BACKGROUND}" if description else IN_BACKGROUND
            self.notes.append(Note("async_told_in_words", f"{path}.async"))
        self._left_keys(tool, _KNOWN_KEYS[found.kind] | ({"async"} if later else set()), path)
        if found.kind == "custom":
            grammar, notes = grammar_of(tool, path)
            self.notes += notes
            patch = found.key[1].strip() == "apply_patch"
            function["description"] = bridge_description(description or "", grammar, is_patch=patch)
            function["parameters"] = bridge_parameters(patch)
            return function, None
        if description:  # Azure refuses an empty one (openai/codex#37432)
            function["description"] = description
        parameters = tool.get("parameters")
        if not isinstance(parameters, dict):
            if parameters is not None:
                self.notes.append(Note("malformed_parameters_replaced", f"{path}.parameters"))
            parameters = {"type": "object", "properties": {}}
        function["parameters"] = parameters
        if isinstance(tool.get("strict"), bool):
            function["strict"] = tool["strict"]
        return function, parameters

    def _left_keys(self, tool: Json, known: frozenset[str], path: str) -> None:
        self.notes += [Note("tool_key_left_out", f"{path}.{key}") for key in tool if key not in known]


def _type(item: Any) -> Any:
    return item.get("type") if isinstance(item, dict) else None


def _is_later(tool: Json) -> bool:
    """Whether calls of a tool are asynchronous."""
    return tool.get("async") is True


def _names(keys: list[Key], taken: frozenset[str]) -> dict[Key, str]:
    """A flat name for each key, none of them twice or in ``taken``; keys that flatten alike all get a fingerprint."""
    names = {key: flat_name(*key) for key in keys}
    altered: set[Key] = set()
    while True:
        holders: dict[str, list[Key]] = {}
        for key, name in names.items():
            holders.setdefault(name, []).append(key)
        clashing = {
            key
            for name, group in holders.items()
            if len(group) > 1 or name in taken
            for key in group
            if key not in altered
        }
        if not clashing:
            return names
        for key in clashing:
            names[key] = _free_fingerprint(key, taken)
        altered |= clashing


def _free_fingerprint(key: Key, taken: frozenset[str]) -> str:
    """Someone may have declared a name that looks like this very fingerprint; then the next one is used."""
    salt = 0
    while (name := fingerprinted(*key, salt)) in taken:
        salt += 1
    return name
