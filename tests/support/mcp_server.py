"""A stdio MCP server with one tool, ``add``, in the standard library only. Run as a script by a coding agent; a number
as its argument gives it that many further tools.

One JSON-RPC message a line, as the stdio transport of the Model Context Protocol says.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Json = dict[str, Any]
INTEGER = {"type": "integer"}
ADD = {
    "name": "add",
    "description": "Adds two integers.",
    "inputSchema": {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["a", "b"]},
}
AWKWARD = (
    {"type": "object", "properties": {"who": {"$ref": "#/$defs/Who", "description": "Whom."}},
     "$defs": {"Who": {"type": "object", "properties": {"name": {"type": "string"}}}}},
    {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}},
     "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}},
    {"type": "object", "properties": {"x": {"type": "string", "anyOf": [{"minLength": 1}, {"enum": ["a"]}]}, "y": {}}},
    {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}, "additionalProperties": False},
    {"type": "object"},
)  # fmt: skip
"""Schemas that one provider or another refuses."""


def tools() -> list[Json]:
    """``add``, and as many more as the command line asks for."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    names = [f"tool_{number:03}" for number in range(count)]
    more = [
        {"name": name, "description": f"Tool {name}.", "inputSchema": AWKWARD[number % len(AWKWARD)]}
        for number, name in enumerate(names)
    ]
    return [ADD, *more]


def answer(method: str, params: Json) -> Json | None:
    """The result of a request, or None for a method this server does not have."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "demo", "version": "1"},
            }
        case "tools/list":
            return {"tools": tools()}
        case "tools/call":
            given = params["arguments"]
            return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}], "isError": False}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        outcome: Json = (
            {"error": {"code": -32601, "message": "unknown method"}} if result is None else {"result": result}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)


if __name__ == "__main__":
    main()
