"""What an MCP server says, in the shapes of Responses items: tools, results, errors (official types of both)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal

import orjson

from translators.events import Json
from translators.gateway.own import Ran

OUTPUT: Final = 256 << 10
"""Characters of a tool's output that a model is given."""
_CLOSED: Final = -32000
Kind = Literal["mcp_protocol_error", "mcp_tool_execution_error", "http_error"]


def tool_of(tool: Any, safe: Callable[[str], str] = str) -> Json:
    """A tool as an ``mcp_list_tools`` item shows it; ``safe`` takes out what the server must not repeat."""
    hints = tool.annotations
    read_only = bool(hints.read_only_hint) if hints is not None and hints.read_only_hint is not None else False
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {"type": "object", "properties": {}}
    return {
        "name": tool.name,
        "description": safe(tool.description or tool.title or ""),
        "input_schema": _sendable(schema, safe),
        "annotations": {"read_only": read_only},
    }


def ran_of(result: Any, safe: Callable[[str], str] = str) -> Ran:
    """What a call brought: its text parts, else its structured content, and a word for what is no text. ``safe`` takes
    out what the server must not repeat."""
    texts = [text for part in result.content if (text := _part(part))]
    if not texts and result.structured_content is not None:
        texts = [orjson.dumps(_sendable(result.structured_content, str)).decode()]
    output = cut("\n\n".join(texts))
    output = safe(output)
    if result.is_error:
        return failure_of(output or "The tool failed and did not say why.")
    return Ran(output=output)


def cut(output: str) -> str:
    """A tool's output, cut where it is longer than a model is given."""
    return output if len(output) <= OUTPUT else f"{output[:OUTPUT]}\n[cut after {OUTPUT:,} characters]"


def failure_of(text: str, error: BaseException | None = None, kind: Kind | None = None) -> Ran:
    """A failed call; ``error`` decides what kind of failure it is."""
    found = _first(error, "MCPError")
    if kind is None and found is None and error is not None and not isinstance(error, RuntimeError):
        kind = "http_error"
    if found is not None:
        detail: Json = {"type": "mcp_protocol_error", "code": getattr(found, "code", 0), "message": text}
    elif kind == "http_error":
        detail = {"type": "http_error", "code": 0, "message": text}
    else:
        detail = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
    return Ran(error=text, detail=detail)


def reason_of(error: BaseException) -> str:
    """What went wrong, in one sentence; groups of errors (the package wraps them, nested) are opened."""
    leaf = _first(error, "MCPError") or _leaves(error)[0]
    if isinstance(leaf, FileNotFoundError):
        return "The MCP server's program cannot be found."
    if isinstance(leaf, TimeoutError) or "Timeout" in type(leaf).__name__:
        return "The MCP server did not answer in time."
    text = " ".join(str(leaf).split())[:500]
    if type(leaf).__name__ == "ConnectError":
        return f"The MCP server cannot be reached: {text}."
    return f"The MCP server failed: {text or type(leaf).__name__}"


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more, so that the next call needs a new one."""
    found = _first(error, "MCPError")
    if found is not None:
        return getattr(found, "code", 0) == _CLOSED
    return not isinstance(error, RuntimeError)


def was_refused(error: BaseException) -> bool:
    """Whether the server itself answered with an error: its answer came, and neither the end of the connection nor that
    of the waiting before it."""
    found = _first(error, "MCPError")
    return found is not None and getattr(found, "code", 0) != _CLOSED and "timed out" not in str(found)


def _sendable(value: Any, safe: Callable[[str], str]) -> Any:
    """A server's JSON as ours: integers of more than 64 bits are nearly what they were, as where a client sends them,
    and what is no number in JSON (``Infinity``, which the package reads) is left out."""
    match value:
        case str():
            return safe(value)
        case dict():
            return {key: _sendable(item, safe) for key, item in value.items() if not _is_beyond(item)}
        case list():
            return [_sendable(item, safe) for item in value if not _is_beyond(item)]
        case int() if not -(1 << 63) <= value < 1 << 64:
            return float(value)
        case _:
            return value


def _is_beyond(value: Any) -> bool:
    """Whether JSON has no number for this one."""
    try:
        return isinstance(value, int | float) and not math.isfinite(value)
    except OverflowError:
        return True


def _part(part: Any) -> str:
    match part.type:
        case "text":
            return str(part.text)
        case "resource" if getattr(part.resource, "text", None):
            return str(part.resource.text)
        case "resource" | "resource_link":
            return f"[resource {getattr(part, 'uri', None) or part.resource.uri}]"
        case kind:
            return f"[{kind} left out]"


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _first(error: BaseException | None, name: str) -> BaseException | None:
    if error is None:
        return None
    return next((leaf for leaf in _leaves(error) if type(leaf).__name__ == name), None)
