"""McpLists: the MCP servers of one turn, which of them the request may use, and what tools they have.

A server of the configuration is named by its label alone. One that the request declares must stand on a host of the
allow-list, and its credentials live as long as the turn. Its tools need approval unless the request says otherwise;
those of the configuration as that says. A server that cannot be listed is an item with an error; the response goes on
without its tools.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import structlog

from agentic_proxy.tools.base import GatewayTool, ToolError
from agentic_proxy.tools.mcp import McpServers, McpSession
from agentic_proxy.tools.net_policy import Refused
from translators.events import Json, StreamEvent
from translators.failure import Failure
from translators.gateway.approvals import Policy, policy_of
from translators.gateway.calls import failed_list, listed
from translators.gateway.own import PLUGIN_LABEL, OwnTool
from translators.gateway.request import MCP, Offer
from translators.items import item_id
from translators.tools.namespaces import flat_name

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

SERVERS: Final = 64
_LABEL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")

log = structlog.get_logger("agentic_proxy.gateway")


class _Server(NamedTuple):
    session: McpSession
    own: bool
    """Whether the session ends with the turn."""
    allowed: frozenset[str] | None
    read_only: bool
    policy: Policy


class McpLists:
    """``passes``: the upstream runs hosted tools itself, so only labels of the configuration concern the proxy."""

    def __init__(self, servers: McpServers, declared: list[Json], *, passes: bool) -> None:
        """Raises Failure ``invalid_request_error`` with the place as ``param``."""
        self._all = servers
        self._servers: dict[str, _Server] = {}
        tools = [tool for tool in declared if tool.get("type") == MCP]
        for index, tool in enumerate(tools):
            label = tool.get("server_label")
            if passes and label not in servers.labels:
                continue
            if not isinstance(label, str) or _LABEL.fullmatch(label) is None:
                raise _invalid("server_label", "must be 1 to 64 letters, digits, _ and -")
            if label == PLUGIN_LABEL:
                raise _invalid("server_label", f"must not be {PLUGIN_LABEL}: so the proxy calls itself")
            if label in self._servers:
                continue
            if index >= SERVERS:
                raise _invalid("server_label", f"is one of more than {SERVERS} MCP servers")
            self._servers[label] = self._server(label, tool)

    def __bool__(self) -> bool:
        return bool(self._servers)

    def tool(self, label: str) -> GatewayTool | None:
        """The server with this label."""
        server = self._servers.get(label)
        return server.session if server is not None else None

    async def close(self) -> None:
        """End the sessions that were opened for this turn only."""
        own = [server.session for server in self._servers.values() if server.own]
        if own:
            await asyncio.gather(*(session.close() for session in own))

    async def discover(self, offer: Offer, turn: Turn) -> Offer:
        """List all servers at the same time; their tools join what is offered. Lists that the history does not hold
        become the first items of the response, shown with its first event."""
        labels = list(self._servers)
        found = await asyncio.gather(*(self._tools(self._servers[label]) for label in labels))
        known = _known(turn.body)
        events: list[StreamEvent] = []
        index = turn.pipeline.next_index
        offered: dict[str, tuple[OwnTool, ...]] = {}
        for label, tools in zip(labels, found, strict=True):
            if isinstance(tools, str):
                log.warning("mcp_server_unavailable", label=label, reason=tools)
            offered[label] = () if isinstance(tools, str) else self._own(label, tools)
            if label in known:
                continue
            identity = item_id("mcp_list_tools", turn.suffix, index)
            shown = failed_list if isinstance(tools, str) else listed
            events += shown(index, identity, label, tools)  # type: ignore[arg-type]
            index += 1
        turn.pipeline.preface(events)
        return replace(offer, mcp=offered, configured=self._all.labels)

    async def _tools(self, server: _Server) -> list[Json] | str:
        """The tools that the request may use, or why there are none."""
        try:
            tools = await server.session.tools()
        except ToolError as error:
            return str(error)
        return [
            tool
            for tool in tools
            if (server.allowed is None or tool["name"] in server.allowed)
            and (not server.read_only or tool["annotations"]["read_only"])
        ]

    def _own(self, label: str, tools: list[Json]) -> tuple[OwnTool, ...]:
        policy = self._servers[label].policy
        return tuple(
            OwnTool(
                MCP,
                flat_name(f"mcp__{label}", tool["name"]),
                tool["description"],
                tool["input_schema"],
                label,
                tool["name"],
                policy.asks(tool),
            )
            for tool in tools
        )

    def _server(self, label: str, tool: Json) -> _Server:
        allowed, read_only = _narrowed(tool.get("allowed_tools"))
        approval, url = tool.get("require_approval"), tool.get("server_url")
        configured = label in self._all.labels
        wanted = self._all.server(label).require_approval if configured else "always"
        try:
            policy = policy_of(wanted if approval is None else approval)
        except ValueError as error:
            raise _invalid("require_approval", str(error)) from None
        if configured and wanted == "always":
            policy = Policy()
        if configured:
            if url is not None:
                raise _invalid("server_url", "must be left out: this label stands in the proxy's configuration")
            own = self._all.server(label).allowed_tools
            if own is not None:
                allowed = frozenset(own) if allowed is None else allowed & frozenset(own)
            return _Server(self._all.configured(label), False, allowed, read_only, policy)
        if not isinstance(url, str):
            text = "is missing, and the proxy's configuration (tools.mcp.servers) has no server with this label"
            raise _invalid("server_url", text)
        try:
            self._all.policy.check_url(url)
        except Refused as refused:
            raise _invalid("server_url", f"{refused} (tools.mcp.allowed_hosts in the proxy's configuration)") from None
        return _Server(self._all.declared(url, _headers(tool)), True, allowed, read_only, policy)


def _invalid(field: str, text: str) -> Failure:
    """Never holds the value."""
    return Failure("invalid_request_error", f"`{field}` of an mcp tool {text}.", param=f"tools[].{field}")


def _headers(tool: Json) -> dict[str, str]:
    given, token = tool.get("headers"), tool.get("authorization")
    headers = dict(given) if isinstance(given, dict) else {}
    for name, value in headers.items():
        if not (isinstance(name, str) and _HEADER.fullmatch(name) and isinstance(value, str)):
            raise _invalid("headers", "must be header names with texts")
        if not (value.isprintable() and value.isascii()):  # the client of MCP servers writes no others
            raise _invalid("headers", "must be header names with texts of printable ASCII characters")
        if name.lower() in ("host", "content-length", "transfer-encoding", "connection"):
            raise _invalid("headers", "must not hold a header of the connection itself")
    if token is not None:
        if not isinstance(token, str) or not token.isprintable() or not token.isascii():
            raise _invalid("authorization", "must be a token")
        headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        headers["Authorization"] = token if " " in token else f"Bearer {token}"
    return headers


def _narrowed(given: Any) -> tuple[frozenset[str] | None, bool]:
    """The names of ``allowed_tools``, a list or an object with ``tool_names``; and whether only reading ones."""
    read_only = isinstance(given, dict) and given.get("read_only") is True
    names = given.get("tool_names") if isinstance(given, dict) else given
    return (frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else None), read_only


def _known(body: Json) -> set[Any]:
    """Labels whose tools this conversation has shown already."""
    items = body.get("input")
    return {
        item.get("server_label")
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict) and item.get("type") == "mcp_list_tools" and not item.get("error")
    }
