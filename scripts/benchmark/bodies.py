"""The requests that ask for a scenario, in each format: as large as a coding agent's, or short without a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from .workloads import Wire

INSTRUCTIONS = "You work in a terminal. Read before you write, change as little as you can, and run the tests. " * 60
TOOL_NAMES = ("shell", "read_file", "list_files", "search", "plan", "view_image", "open_page", "ask")
PARAMETERS = {
    "type": "object",
    "properties": {
        name: {"type": "string", "description": f"The {name} that the tool works on"}
        for name in ("path", "pattern", "command", "folder")
    },
    "required": ["path"],
    "additionalProperties": False,
}
PURPOSE = "Does one thing to the workspace and answers with text. " * 4
FUNCTIONS = [
    {"type": "function", "name": name, "description": PURPOSE, "parameters": PARAMETERS, "strict": False}
    for name in TOOL_NAMES
]
# Without the grammar that Codex sends: agentic-server 0.9.0 refuses a custom tool that has one.
APPLY_PATCH = {"type": "custom", "name": "apply_patch", "description": "Edits files with a patch. " * 10}


def message(number: int) -> dict[str, Any]:
    role, kind = (("user", "input_text"), ("assistant", "output_text"))[number % 2]
    words = f"Message {number}: " + "something that was said or read earlier on. " * 8
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


CONVERSATION = [message(number) for number in range(19)]


def _responses(model: str, stream: bool) -> dict[str, Any]:
    if not stream:
        return {"model": model, "input": [message(0)], "stream": False, "store": False}
    return {
        "model": model,
        "instructions": INSTRUCTIONS,
        "input": CONVERSATION,
        "tools": [*FUNCTIONS, APPLY_PATCH] if "patch" in model else FUNCTIONS,
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "stream": True,
        "store": False,
    }


def _turns(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": item["role"], "content": item["content"][0]["text"]} for item in items]


def _chat(model: str, stream: bool) -> dict[str, Any]:
    if not stream:
        return {"model": model, "messages": _turns([message(0)]), "stream": False}
    named = ("name", "description", "parameters")
    return {
        "model": model,
        "messages": [{"role": "system", "content": INSTRUCTIONS}, *_turns(CONVERSATION)],
        "tools": [{"type": "function", "function": {key: tool[key] for key in named}} for tool in FUNCTIONS],
        "stream": True,
    }


def _messages(model: str, stream: bool) -> dict[str, Any]:
    if not stream:
        return {"model": model, "max_tokens": 1000, "messages": _turns([message(0)]), "stream": False}
    return {
        "model": model,
        "max_tokens": 32_000,
        "system": INSTRUCTIONS,
        "messages": _turns(CONVERSATION),
        "tools": [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in FUNCTIONS
        ],
        "stream": True,
    }


_BODIES: Final[dict[Wire, Callable[[str, bool], dict[str, Any]]]] = {
    "responses": _responses,
    "chat": _chat,
    "messages": _messages,
}


def request_body(wire: Wire, model: str, *, stream: bool) -> bytes:
    """The same request in any format: 20 KB with a stream, short without."""
    return json.dumps(_BODIES[wire](model, stream), separators=(",", ":")).encode()
