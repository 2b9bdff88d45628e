"""Credentials of MCP servers that a request declares: needed for the turn, never kept.

OpenAI's ``mcp`` tool carries them in ``headers``, in ``authorization`` and in what servers hand out as addresses, and
never echoes them either; a continuation has to send them again.
"""

from __future__ import annotations

import re
from typing import Any, Final

from translators.events import Json

__all__ = ["redact_item", "redact_tools"]

_SECRET: Final = ("headers", "authorization")
_NAMED: Final = re.compile(r"(?i)auth|cookie|key|token|secret|session|pass|pwd|cred")
_ENCODED: Final = re.compile(r"%([0-9a-fA-F]{2})")
_RANDOM: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-)"
)
"""What nobody makes up who wants it to be read: long without a word's end, with letters and digits, or a UUID."""


def redact_tools(tools: Any) -> Any:
    """The ``tools`` of a request as they may be stored and echoed: ``mcp`` tools without ``headers`` and
    ``authorization``, and with ``***`` for the credentials in ``server_url``. What is not a list of tools comes back as
    it is; nothing given is changed."""
    if not isinstance(tools, list):
        return tools
    kept = [_kept(tool) for tool in tools]
    return kept if any(each is not tool for each, tool in zip(kept, tools, strict=True)) else tools


def redact_item(item: Json) -> Json:
    """An item as it may be kept and listed: what it declares (``additional_tools``, ``tool_search_output``) loses its
    credentials too. The same object when there are none."""
    given = item.get("tools")
    tools = redact_tools(given)
    return item if tools is given else {**item, "tools": tools}


def _kept(tool: Any) -> Any:
    if not isinstance(tool, dict) or tool.get("type") != "mcp":
        return tool
    given = tool.get("server_url")
    url = _without_credentials(given) if isinstance(given, str) else given
    if url == given and not any(key in tool for key in _SECRET):
        return tool
    kept = {key: value for key, value in tool.items() if key not in _SECRET}
    return {**kept, "server_url": url} if url != given else kept


def _without_credentials(url: str) -> str:
    """Other parts of the path and other parameters stay: without credentials a server can be found again."""
    place, _, query = url.partition("?")
    scheme, mark, rest = place.partition("://")
    host, *steps = rest.split("/")
    user, at, name = host.rpartition("@")
    host = f"***@{name}" if at and user else host
    path = "/".join([host, *("***" if _RANDOM.search(_decoded(step)) else step for step in steps)])
    parameters = "&".join(map(_shown, query.split("&"))) if query else ""
    return f"{scheme}{mark}{path}" + (f"?{parameters}" if parameters else "")


def _shown(parameter: str) -> str:
    name, mark, value = parameter.partition("=")
    hidden = bool(value) and bool(_NAMED.search(_decoded(name)) or _RANDOM.search(_decoded(value)))
    if not mark:
        return "***" if _RANDOM.search(_decoded(name)) else name
    return f"{name}={'***' if hidden else value}"


def _decoded(part: str) -> str:
    """With letters and digits in the place of those that are written in percent."""
    return _ENCODED.sub(lambda found: chr(int(found[1], 16)), part)
