"""Credentials of MCP servers that a request declares: needed for the turn, never kept.

OpenAI's ``mcp`` tool carries them in ``headers`` and ``authorization`` and never echoes them either; a continuation
has to send them again.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json

__all__ = ["redact_item", "redact_tools"]

_SECRET: Final = ("headers", "authorization")


def redact_tools(tools: Any) -> Any:
    """The ``tools`` of a request as they may be stored and echoed: ``mcp`` tools without ``headers`` and
    ``authorization``. What is not a list of tools comes back as it is; nothing given is changed."""
    if not isinstance(tools, list) or not any(_has_secret(tool) for tool in tools):
        return tools
    return [
        {key: value for key, value in tool.items() if key not in _SECRET} if _has_secret(tool) else tool
        for tool in tools
    ]


def redact_item(item: Json) -> Json:
    """An item as it may be kept and listed: what it declares (``additional_tools``, ``tool_search_output``) loses its
    credentials too. The same object when there are none."""
    given = item.get("tools")
    tools = redact_tools(given)
    return item if tools is given else {**item, "tools": tools}


def _has_secret(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "mcp" and any(key in tool for key in _SECRET)
