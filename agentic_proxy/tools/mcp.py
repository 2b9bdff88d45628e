"""MCP servers through the official ``mcp`` package, which is imported once, in a thread, when first needed.

One task of its own opens and closes each session (closing it from another task would cancel); any task may call.
Servers of the configuration stay open, those that a request declares live as long as its turn, and so do the
credentials that came with them.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson

from agentic_proxy.config.model import Mcp, McpServer
from agentic_proxy.observe.redact import Known, redact
from agentic_proxy.tools.base import CALL_LIMIT, ToolError
from agentic_proxy.tools.mcp_results import failure_of, is_lost, ran_of, reason_of, tool_of, was_refused
from agentic_proxy.tools.net_policy import NetPolicy
from translators.events import Json
from translators.gateway.own import OwnTool, Ran

if TYPE_CHECKING:
    from mcp import Client

OPENING: Final = 10.0
"""Seconds to connect and to list the tools."""
PAGES: Final = 32
TOOLS: Final = 128
LIST_AGE: Final = 300.0
"""Seconds for which the list of a server that stays open is believed."""
CLOSING: Final = 5.0
UNSAID: Final = "Server returned an error response"
"""What the package says of every HTTP status that it knows nothing about."""


@dataclass(frozen=True, slots=True)
class Where:
    """How a server is reached: a URL with headers, or a command with its environment."""

    url: str | None
    headers: Mapping[str, str]
    command: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None

    def known(self) -> Known:
        """The credentials that a server at this place may quote."""
        known = Known()
        for name, value in (*self.headers.items(), *(self.env or {}).items()):
            known.add_setting(name, value)
        if self.url is not None:
            known.add_url(self.url)
        return known


class _Heard:
    """What one connection heard by HTTP alone: the ``status`` of the last message that the server refused, and whether
    it knows the session no more; ``idle``: no call is under way."""

    def __init__(self) -> None:
        self.status = 0
        self.ended = False
        self.idle = asyncio.Event()
        self._calls = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        self._calls += 1
        self.idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self.idle.set()

    def refused(self, status: int, in_session: bool) -> None:
        self.status = status
        self.ended = self.ended or (status == 404 and in_session)


class McpSession:
    """One server. Opened when first used, and again when the connection was lost."""

    def __init__(self, where: Where, policy: NetPolicy, tls: Callable[[], ssl.SSLContext]) -> None:
        self._where, self._policy, self._tls = where, policy, tls
        self._known = where.known()
        self._opening = asyncio.Lock()
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._end = asyncio.Event()
        self._tools: list[Json] = []
        self._listed = 0.0
        self._heard = _Heard()

    async def tools(self) -> list[Json]:
        """All its tools, in its order: name, description, input_schema, annotations. Raises ToolError."""
        try:
            async with asyncio.timeout(OPENING):
                client = await self._open()
                if not self._listed or time.monotonic() - self._listed > LIST_AGE:
                    try:
                        self._tools = await _listed(client, self._known.hide)
                    except Exception:  # a connection that stood open for long may be gone: once more
                        await self._leave(client)
                        self._tools = await _listed(await self._open(), self._known.hide)
                    self._listed = time.monotonic()
        except ToolError:
            raise
        except TimeoutError:
            raise ToolError(f"The MCP server did not answer within {OPENING:g} seconds.") from None
        except Exception as error:
            raise ToolError(self._reason(error)) from None
        return self._tools

    async def run(self, own: OwnTool, arguments: str) -> Ran:
        """Call one tool. What goes wrong is a Ran with an error, in the form that mcp_call items have."""
        try:
            given = orjson.loads(arguments or b"{}")
        except orjson.JSONDecodeError:
            given = None
        if not isinstance(given, dict):
            return failure_of("The arguments are not a JSON object.")
        client, heard = None, None
        try:
            client = await self._open()
            heard = self._heard
            with heard.call():
                result = await client.call_tool(own.tool, given, read_timeout_seconds=CALL_LIMIT)
        except ToolError as error:
            return failure_of(str(error), kind="http_error")
        except Exception as error:
            ended = heard is not None and heard.ended and was_refused(error)
            if heard is not None and ended:
                # The next call gets a new session. This one is not tried again: the package may have asked for the
                # list behind a call that was run. Nor are others cut off that the server is still at work on.
                await heard.idle.wait()
            if ended or is_lost(error):
                await self._leave(client)
            return failure_of(self._reason(error), error)
        return ran_of(result, self._known.hide)

    def _reason(self, error: BaseException) -> str:
        """Why something failed, without any credential. Of an HTTP status the package says nothing."""
        text = reason_of(error)
        status = self._heard.status
        if text.endswith(UNSAID) and status:
            wrong = ", so it wants other credentials" if status in (401, 403) else ""
            text = f"The MCP server answered with HTTP {status}{wrong}."
        return redact(self._known.hide(text))

    async def _leave(self, client: Client | None) -> None:
        """End the session of a client that is of no use any more; a later one, which others opened, stays."""
        ready = self._ready
        if ready is not None and ready.done() and (ready.exception() is not None or ready.result() is client):
            await self.close()

    async def close(self) -> None:
        """End the session."""
        owner, self._owner, self._listed = self._owner, None, 0.0
        if owner is None:
            return
        self._end.set()
        opened = self._ready is not None and self._ready.done()
        done, _ = await asyncio.wait({owner}, timeout=CLOSING if opened else 0)
        if not done:
            owner.cancel()
            await asyncio.wait({owner})

    async def _open(self) -> Client:
        async with self._opening:
            if self._ready is None or self._owner is None or self._owner.done():
                self._listed = 0.0
                await _imported()
                self._ready = asyncio.get_running_loop().create_future()
                self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
                self._end = asyncio.Event()
                self._owner = asyncio.create_task(self._own(self._ready, self._end), name="mcp session")
            ready = self._ready
        # Whoever stops waiting takes nothing from the others.
        return await asyncio.shield(ready)

    async def _own(self, ready: asyncio.Future[Client], end: asyncio.Event) -> None:
        try:
            async with self._connected() as client:
                ready.set_result(client)
                await end.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(ToolError(self._reason(error)))
            if isinstance(error, asyncio.CancelledError | SystemExit | KeyboardInterrupt):
                raise

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        where = self._where
        async with AsyncExitStack() as stack:
            if where.url is not None:
                from agentic_proxy.tools.mcp_http import http_client

                self._heard = _Heard()
                client = http_client(self._policy, self._tls(), where.headers, self._heard.refused)
                await stack.enter_async_context(client)
                transport: Any = streamable_http_client(where.url, http_client=client)
            else:
                program, *words = where.command
                errors = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: ASYNC230, SIM115
                parameters = StdioServerParameters(
                    command=program,
                    args=words,
                    env=dict(where.env or {}),
                    # One line of a log in another encoding would end the reading, and every call wait in vain.
                    encoding_error_handler="replace",
                )
                transport = stdio_client(parameters, errlog=errors)
            yield await stack.enter_async_context(Client(transport, cache=None, read_timeout_seconds=CALL_LIMIT))


class McpServers:
    """The servers of the configuration, and the makers of sessions for others."""

    def __init__(self, config: Mcp, tls: Callable[[], ssl.SSLContext]) -> None:
        self._config = config
        self._tls = tls
        self.policy = NetPolicy(config.allowed_hosts)
        self._sessions: dict[str, McpSession] = {}

    @property
    def labels(self) -> frozenset[str]:
        """The labels that the configuration names."""
        return frozenset(self._config.servers)

    def server(self, label: str) -> McpServer:
        """What the configuration says of a label."""
        return self._config.servers[label]

    def configured(self, label: str) -> McpSession:
        """The session of a server that the configuration names."""
        session = self._sessions.get(label)
        if session is None:
            server = self._config.servers[label]
            headers = {name: value.reveal() for name, value in server.headers.items()}
            env = {name: value.reveal() for name, value in server.env.items()}
            where = Where(server.url, headers, server.command, env)
            # Whoever wrote this address down wants it, wherever it is.
            policy = NetPolicy(_own_host(server.url), anywhere=True) if server.url is not None else self.policy
            session = self._sessions[label] = McpSession(where, policy, self._tls)
        return session

    def declared(self, url: str, headers: Mapping[str, str]) -> McpSession:
        """A session for a server that a request declares, with the request's own credentials."""
        return McpSession(Where(url, headers), self.policy, self._tls)

    async def close(self) -> None:
        """End all sessions that stay open."""
        sessions, self._sessions = self._sessions, {}
        await asyncio.gather(*(session.close() for session in sessions.values()))


def _own_host(url: str) -> list[str]:
    host = (urlsplit(url).hostname or "").lower()
    return [f"[{host}]" if ":" in host else host]


async def _listed(client: Client, safe: Callable[[str], str]) -> list[Json]:
    tools: list[Json] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools += [tool_of(tool, safe) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None or len(tools) >= TOOLS:
            break
    return tools[:TOOLS]


async def _imported() -> None:
    """The package, loaded in a thread: it takes half a second. Raises ToolError when it is not installed."""
    try:
        for name in ("mcp", "mcp.client.stdio", "mcp.client.streamable_http", "httpx2"):
            await asyncio.to_thread(importlib.import_module, name)
    except ModuleNotFoundError:
        text = "MCP support is not installed here: install agentic-proxy with its extra [mcp]."
        raise ToolError(text) from None
