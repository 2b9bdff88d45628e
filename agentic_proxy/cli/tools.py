"""``agentic-proxy tools``: what the proxy can run itself, and a try of one of it.

The address of an MCP server may hold a key in its path or query, and so may the arguments of a command; only host and
program are shown. Texts that come from elsewhere are made single lines without control characters.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.chosen import from_file_or_machine, in_use
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.show import without_password
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from agentic_proxy.config.model import Config, McpServer
from agentic_proxy.config.nearest import hint
from agentic_proxy.observe.redact import redact, redact_value
from translators.events import Json

if TYPE_CHECKING:
    from agentic_proxy.engine.gateway_tools import GatewayTools
    from agentic_proxy.tools.plugin import PluginTool

NO_SEARCH = "no search provider is configured (tools.web_search)"
NO_SERVERS = "no server is configured (tools.mcp.servers)"
LENGTH = 200
"""Characters of a text from elsewhere in one line of the output; JSON has all of it."""


def run(arguments: argparse.Namespace) -> int:
    """List or try them; 69 when something that is configured, or was named, cannot be used, 78: the configuration."""
    try:
        config = from_file_or_machine(Flags(config=in_use(arguments.config, os.environ))).config
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    for warning in config.warnings:
        output.warn(warning)
    if arguments.action is None:
        return _list(config, as_json=arguments.json)
    if arguments.tool == "web_search":
        return _search(config, " ".join(arguments.query), as_json=arguments.json)
    return _server(config, arguments.label, as_json=arguments.json)


def _list(config: Config, *, as_json: bool) -> int:
    search, servers = config.tools.web_search, config.tools.mcp.servers
    with _quiet():
        rows = asyncio.run(_servers(config, list(servers)))
    plugins: list[Json] = [
        {"name": tool.name, "description": tool.description, "always": tool.name in config.tools.offer}
        for tool in _plugins(config)
    ]
    if as_json:
        found = {
            "provider": search.provider if search else None,
            "base_url": without_password(search.base_url) if search else None,
            "reason": None if search else NO_SEARCH,
        }
        hosts = list(config.tools.mcp.allowed_hosts)
        _json({"web_search": found, "mcp": {"servers": rows, "allowed_hosts": hosts}, "plugins": plugins})
    else:
        what = f"{search.provider} ({without_password(search.base_url)})" if search else f"none: {NO_SEARCH}"
        output.data(f"web_search: {what}")
        for row in rows:
            _show(row)
        if not rows:
            output.data(f"mcp: none: {NO_SERVERS}")
        if config.tools.mcp.allowed_hosts:
            output.data(f"mcp: requests may declare servers on {', '.join(config.tools.mcp.allowed_hosts)}")
        for tool in plugins:
            when = "every request" if tool["always"] else "requests that declare it"
            output.data(f"plugin {_line(tool['name'])} ({when}): {_line(tool['description'])}")
    return Exit.UNAVAILABLE if any(row["reason"] for row in rows) else Exit.OK


def _plugins(config: Config) -> list[PluginTool]:
    """The tools that plugins brought."""
    if not config.plugins:
        return []
    from agentic_proxy.tools.plugin import PLUGIN_TOOLS

    return list(PLUGIN_TOOLS.values())


def _search(config: Config, query: str, *, as_json: bool) -> int:
    search = config.tools.web_search
    if search is None:
        output.fail(f"web_search: {NO_SEARCH}")
        return Exit.UNAVAILABLE
    with _quiet():
        error, rows = asyncio.run(_searched(config, query))
    if error is not None:
        output.fail(f"web_search: {_line(error)}")
        return Exit.UNAVAILABLE
    if as_json:
        _json({"provider": search.provider, "query": query, "results": rows})
        return Exit.OK
    for row in rows:
        date = f" ({_line(row['date'])})" if row["date"] else ""
        output.data(f"{row['n']}. {_line(row['title'])}{date}")
        output.data(f"   {_line(row['url'], len(row['url']))}")
        if row["text"]:
            output.data(f"   {_line(row['text'])}")
    if not rows:
        output.say("nothing was found")
    return Exit.OK


def _server(config: Config, label: str, *, as_json: bool) -> int:
    servers = config.tools.mcp.servers
    if label not in servers:
        output.fail(f"mcp {_line(label)}: {f'no such server, {hint(label, servers)}' if servers else NO_SERVERS}")
        return Exit.UNAVAILABLE
    with _quiet():
        (row,) = asyncio.run(_servers(config, [label]))
    if row["reason"] is not None:
        output.fail(f"mcp {label}: {row['reason']}")
        return Exit.UNAVAILABLE
    if as_json:
        _json(row)
    else:
        _show(row)
    return Exit.OK


def _show(row: Json) -> None:
    count = len(row["tools"])
    state = row["reason"] or f"{count} tool{'' if count == 1 else 's'}"
    output.data(f"mcp {row['label']} ({row['where']}): {state}")
    width = max((len(tool["name"]) for tool in row["tools"]), default=0)
    for tool in row["tools"]:
        name, text = _line(tool["name"]), _line(tool["description"])
        output.data(f"  {name:{width}}  {text}{' (read only)' if tool['read_only'] else ''}".rstrip())


async def _searched(config: Config, query: str) -> tuple[str | None, list[Json]]:
    """One search, on the way that a model's goes: why it failed, or what it found."""
    from agentic_proxy.engine.gateway_tools import GatewayTools
    from agentic_proxy.tools.web_search.search import WebSearch
    from translators.gateway.search import Settings, web_search_tool

    tools = GatewayTools(config)
    try:
        assert tools.searcher is not None, "a provider is configured"
        asked = orjson.dumps({"query": query}).decode()
        ran = await WebSearch(tools.searcher, Settings()).run(web_search_tool(), asked)
    finally:
        await tools.close()
    return ran.error, [
        {"n": number, "title": each.title, "url": each.url, "date": each.age, "text": each.text}
        for number, each in enumerate(ran.results, start=1)
    ]


async def _servers(config: Config, labels: list[str]) -> list[Json]:
    if not labels:
        return []
    from agentic_proxy.engine.gateway_tools import GatewayTools

    tools = GatewayTools(config)
    try:
        return await asyncio.gather(*(_row(tools, label) for label in labels))
    finally:
        await tools.close()


async def _row(tools: GatewayTools, label: str) -> Json:
    """One server: its tools as far as requests may use them, or the reason why there are none."""
    from agentic_proxy.tools.base import ToolError

    server = tools.mcp.server(label)
    row: Json = {"label": label, "where": _where(server), "reason": None, "tools": []}
    try:
        found = await tools.mcp.configured(label).tools()
    except ToolError as error:
        return {**row, "reason": _line(_without_address(str(error), server), 500)}
    allowed = server.allowed_tools
    if missing := [name for name in allowed or () if all(tool["name"] != name for tool in found)]:
        output.warn(f"mcp {label}: allowed_tools names what the server does not have: {', '.join(missing)}")
    row["tools"] = [
        {"name": tool["name"], "description": tool["description"], "read_only": tool["annotations"]["read_only"]}
        for tool in found
        if allowed is None or tool["name"] in allowed
    ]
    return row


def _where(server: McpServer) -> str:
    """Scheme and host of its address, or the program of its command."""
    if server.url is None:
        return _line(server.command[0])
    parts = urlsplit(server.url)
    return f"{parts.scheme}://{parts.netloc}"


def _without_address(text: str, server: McpServer) -> str:
    """An error's text with no more of the address or the command than ``_where`` shows."""
    if server.url is None:
        hidden = server.command[1:]
    else:
        parts = urlsplit(server.url)
        text = text.replace(server.url, _where(server))
        hidden = (parts.path, parts.query)
    for part in hidden:
        if len(part) >= 6:
            text = text.replace(part, "***")
    return text


def _line(text: str, length: int = LENGTH) -> str:
    """One line that no terminal takes for a command, and without credentials."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in redact(text)).split())
    return plain if len(plain) <= length else f"{plain[: length - 1]}…"


def _json(value: Json) -> None:
    output.block(orjson.dumps(redact_value(value), option=orjson.OPT_INDENT_2).decode())


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Standard output stays for data, and the ``mcp`` package's log silent: what it has to say is the reason shown."""
    logger = logging.getLogger("mcp")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        logger.setLevel(level)
