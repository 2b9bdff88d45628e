"""OwnTool: a function that the proxy itself runs, and Ran: what came of one call.

A model only ever sees a function; a client only ever sees the public item (``web_search_call``, ``mcp_call``). The tool
of a plugin is shown as an ``mcp_call`` too, of the one server that the proxy itself is: the only item of the API with a
name, arguments and an output, so every client takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from translators.events import Json

__all__ = ["PLUGIN_LABEL", "OwnTool", "Ran", "Result"]

PLUGIN_LABEL: Final = "agentic-proxy"
"""The server label of plugins' tools; no MCP server has it."""


@dataclass(frozen=True, slots=True)
class OwnTool:
    """``name`` is the wished function name; ``label`` and ``tool`` name an MCP server and its tool; ``asks``: its calls
    are run only when the user approved them."""

    kind: Literal["web_search", "mcp", "plugin"]
    name: str
    description: str
    parameters: Json
    label: str = ""
    tool: str = ""
    asks: bool = False


class Result(NamedTuple):
    """One search result, as plain text. ``age`` is what the provider says of its date, or empty."""

    title: str
    url: str
    text: str
    age: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one call brought. ``error`` in words for model and client, None when it went well.

    ``results`` belong to a search; ``output`` is an MCP tool's text and ``detail`` the typed error of its item.
    """

    error: str | None = None
    results: tuple[Result, ...] = ()
    output: str = ""
    detail: Json | None = None
