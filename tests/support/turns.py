"""What a scripted upstream plays: one turn per model request, the last one again and again.

A turn is one item, a tuple of items (one response holding all of them), or a fault. Tool calls are named as a person
would name them; ``resolve`` looks into the tools of the request at hand, so that the same script works in front of a
client that declares custom tools and behind a proxy that turned them into functions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """A message; ``reasoning`` comes before it as a reasoning summary (Chat: ``reasoning_content``)."""

    text: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A function call. ``name`` may be flat (``mcp__demo__add``) where the request declares a namespace; a string as
    ``arguments`` goes out exactly as it is, so it may be broken."""

    name: str
    arguments: Json | str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Custom:
    """A custom (freeform) tool call; only a Responses upstream can play it."""

    name: str
    input: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces one line of a file by the best tool the request offers, or by the one named in ``tool``:
    custom apply_patch, function apply_patch, the ``exec`` of code mode, a shell command."""

    path: str
    old: str
    new: str
    tool: Literal["any", "apply_patch", "exec", "shell"] = "any"

    @property
    def patch(self) -> str:
        return f"*** Begin Patch\n*** Update File: {self.path}\n@@\n-{self.old}\n+{self.new}\n*** End Patch"


Item: TypeAlias = Say | Call | Custom | Edit


@dataclass(frozen=True, slots=True)
class Status:
    """A plain HTTP answer instead of a stream."""

    status: int
    body: Json = field(default_factory=lambda: {"error": {"message": "scripted", "type": "scripted", "code": None}})
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """The stream starts, plays ``items``, then reports a failure (Chat: an ``error`` object in the 200 stream)."""

    code: str
    message: str = "scripted failure"
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The response ends early with a reason (Chat: finish_reason ``length`` or ``content_filter``)."""

    reason: Literal["max_output_tokens", "content_filter"] = "max_output_tokens"
    items: tuple[Item, ...] = (Say("partial "),)


@dataclass(frozen=True, slots=True)
class Cut:
    """The body ends without its terminal: after ``created``, inside the last item, or after complete items."""

    after: Literal["created", "text", "item"]
    items: tuple[Item, ...] = (Say("partial text "),)


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection is closed before any answer."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The stream starts, plays ``items`` and then says nothing until the other side gives up."""

    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """These very bytes as a 200 event stream (or any other content type)."""

    body: bytes
    content_type: str = "text/event-stream"


Fault: TypeAlias = Status | Failed | Incomplete | Cut | Disconnect | Silence | Raw
Turn: TypeAlias = Item | tuple[Item, ...] | Fault


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a request declares it; ``schema`` is that of a function's arguments."""

    kind: Literal["function", "custom"]
    name: str
    namespace: str | None
    schema: Json

    @property
    def flat(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


def declared_tools(body: Json) -> list[Tool]:
    """Every tool of a Responses or Chat request: top level, in namespaces, in ``additional_tools`` and in the results
    of a tool search."""
    found = list(_walk(body.get("tools") or [], None))
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        if item.get("type") in ("additional_tools", "tool_search_output"):
            found += _walk(item.get("tools") or [], None)
    return found


def _walk(tools: list[Json], namespace: str | None) -> Iterator[Tool]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _walk(tool.get("tools") or [], tool["name"])
        elif tool.get("type") == "custom":
            yield Tool("custom", tool["name"], namespace, {})
        elif "name" in (plain := tool.get("function") or tool):
            yield Tool("function", plain["name"], namespace, plain.get("parameters") or {})


def resolve(item: Item, tools: list[Tool]) -> Say | Call | Custom:
    """The item as it goes on the wire in answer to a request with these tools."""
    if isinstance(item, Edit):
        return _resolve_edit(item, tools)
    if isinstance(item, Call) and item.namespace is None:
        for tool in tools:
            if tool.namespace and tool.flat == item.name:
                return Call(tool.name, item.arguments, tool.namespace)
    return item


def _resolve_edit(edit: Edit, tools: list[Tool]) -> Call | Custom:
    patch = next((tool for tool in tools if tool.name == "apply_patch"), None)
    if patch and edit.tool in ("any", "apply_patch"):
        return _freeform(patch, edit.patch)
    code = next((tool for tool in tools if tool.name == "exec" or tool.flat.endswith("__exec")), None)
    if code and edit.tool in ("any", "exec"):
        return _freeform(code, f"const result = await tools.apply_patch({json.dumps(edit.patch)});\ntext(result);")
    shell = next((tool for tool in tools if tool.name == "exec_command"), None)
    if shell and edit.tool in ("any", "shell"):
        return Call(shell.name, {"cmd": f"sed -i 's/{edit.old}/{edit.new}/' {edit.path}"}, shell.namespace)
    raise LookupError(f"no tool for {edit}: the request offers {[tool.flat for tool in tools]}")


def _freeform(tool: Tool, text: str) -> Call | Custom:
    if tool.kind == "custom":
        return Custom(tool.name, text, tool.namespace)
    (parameter,) = tool.schema["properties"]
    return Call(tool.name, {parameter: text}, tool.namespace)
