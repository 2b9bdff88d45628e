"""Sessions with MCP servers of the official package: opened once, by one task, and again after a loss."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from agentic_proxy.config.model import Mcp, McpServer
from agentic_proxy.config.secrets import Secret
from agentic_proxy.executors.tls import client_context
from agentic_proxy.tools import mcp as module
from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.mcp import McpServers, McpSession, Where
from support.checkout import ROOT
from support.mcp_sessions import SessionServer
from support.raw_upstream import LIMIT
from support.sdk_mcp_server import HttpMcpServer
from translators.gateway.own import OwnTool, Ran

PLAIN = str(ROOT / "tests" / "support" / "mcp_server.py")


def tool(name: str) -> OwnTool:
    return OwnTool("mcp", f"mcp__s__{name}", "", {}, "s", name)


def command(*words: str, **more: Any) -> McpServers:
    return McpServers(Mcp(servers={"s": McpServer(command=words, **more)}), client_context)


async def test_a_session_is_opened_once_and_closed_with_its_program() -> None:
    servers = command(sys.executable, PLAIN, "130")
    session = servers.configured("s")
    first, second = await asyncio.gather(session.tools(), session.tools())
    assert first == second
    assert len(first) == module.TOOLS, "a list has its limit"
    assert await asyncio.gather(*(session.run(tool("add"), f'{{"a": {n}, "b": 1}}') for n in range(3))) == [
        Ran(output=str(n + 1)) for n in range(3)
    ]
    assert servers.configured("s") is session
    (owner,) = [task for task in asyncio.all_tasks() if task.get_name() == "mcp session"]
    await servers.close()
    assert owner.done()


async def test_a_server_that_died_is_opened_again_by_the_next_call() -> None:
    servers = command(sys.executable, PLAIN)
    session = servers.configured("s")
    lost = await session.run(tool("add"), "{}")
    assert lost.detail is not None
    assert (lost.error, lost.detail["type"]) == ("The MCP server failed: Connection closed", "mcp_protocol_error")
    assert (await session.run(tool("add"), '{"a": 1, "b": 1}')).output == "2"
    await servers.close()


@pytest.mark.parametrize("said", [None, "Session not found"])
async def test_after_a_session_that_the_server_knows_no_more_the_next_call_begins_a_new_one(said: str | None) -> None:
    async with SessionServer(said) as server:
        servers = McpServers(Mcp(servers={"s": McpServer(url=server.url)}), client_context)
        session = servers.configured("s")
        await session.tools()
        assert (await session.run(tool("add"), "{}")).output == "session 1"
        server.forget()
        lost = await asyncio.gather(*(session.run(tool("add"), "{}") for _ in range(3)))
        assert {each.error for each in lost} == {f"The MCP server failed: {said or 'Session terminated'}"}
        assert (await session.run(tool("add"), "{}")).output == "session 2"
        assert server.calls == 2
        await servers.close()


async def test_the_end_of_a_session_ends_no_call_that_the_server_is_at_work_on() -> None:
    async with SessionServer() as server, asyncio.timeout(LIMIT):
        servers = McpServers(Mcp(servers={"s": McpServer(url=server.url)}), client_context)
        session = servers.configured("s")
        await session.tools()
        server.gate.clear()
        first = asyncio.create_task(session.run(tool("add"), "{}"))
        await server.began.wait()
        server.forget()
        second = asyncio.create_task(session.run(tool("add"), "{}"))
        await server.refused.wait()
        server.gate.set()
        assert ((await first).output, (await second).error) == (
            "session 1",
            "The MCP server failed: Session terminated",
        )
        assert server.calls == 1
        await servers.close()


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (401, "The MCP server answered with HTTP 401, so it wants other credentials."),
        (403, "The MCP server answered with HTTP 403, so it wants other credentials."),
        (500, "The MCP server answered with HTTP 500."),
    ],
)
async def test_a_server_that_refuses_is_told_by_its_status(status: int, text: str) -> None:
    async with SessionServer(refusal=status) as server:
        servers = McpServers(Mcp(servers={"s": McpServer(url=server.url)}), client_context)
        with pytest.raises(ToolError) as caught:
            await servers.configured("s").tools()
        assert str(caught.value) == text
        await servers.close()


async def test_a_line_in_another_encoding_takes_nothing_from_the_calls() -> None:
    script = r"""
import runpy, sys
sys.stdout.buffer.write(b"\xff log\n")
sys.stdout.flush()
runpy.run_path(sys.argv.pop(), run_name="__main__")
"""
    servers = command(sys.executable, "-c", script, PLAIN)
    assert (await servers.configured("s").run(tool("add"), '{"a": 1, "b": 1}')).output == "2"
    await servers.close()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("/nonexistent-program",), "The MCP server's program cannot be found."),
        (("/bin/true",), "The MCP server failed: Connection closed"),
    ],
)
async def test_a_program_that_is_no_server_is_told(words: tuple[str, ...], text: str) -> None:
    servers = command(*words)
    with pytest.raises(ToolError) as caught:
        await servers.configured("s").tools()
    assert str(caught.value) == text
    ran = await servers.configured("s").run(tool("add"), "{}")
    assert ran.detail == {"type": "http_error", "code": 0, "message": text}
    await servers.close()


async def test_a_server_that_says_nothing_is_left_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPENING", 0.3)
    servers = command(sys.executable, "-c", "import sys; sys.stdin.read()")
    with pytest.raises(ToolError, match=r"did not answer within 0\.3 seconds"):
        await servers.configured("s").tools()
    await servers.close()


async def test_whoever_stops_waiting_takes_nothing_from_the_others() -> None:
    servers = command(sys.executable, PLAIN)
    session = servers.configured("s")
    first = asyncio.create_task(session.tools())
    second = asyncio.create_task(session.tools())
    await asyncio.sleep(0)
    first.cancel()
    assert [each["name"] for each in await second] == ["add"]
    await servers.close()


async def test_the_environment_of_a_program_is_its_own_and_never_shown() -> None:
    script = "import os, sys; sys.exit(os.environ['TOKEN'] != 'canary-value' or 'AGENTIC_PROXY_HOME' in os.environ)"
    servers = command(sys.executable, "-c", script, env={"TOKEN": Secret("canary-value")})
    with pytest.raises(ToolError) as caught:
        await servers.configured("s").tools()
    assert "canary" not in str(caught.value)
    await servers.close()


def test_credentials_are_taken_out_of_every_text() -> None:
    where = Where("https://m.example", {"Authorization": "Bearer canary-token", "X-Key": "canary-key"})
    said = "sent canary-token and canary-key, Bearer canary-token"
    assert where.known().hide(said) == "sent *** and ***, Bearer ***"


def test_credentials_in_an_address_are_taken_out_as_well() -> None:
    where = Where("https://m.example/s/a1b2c3d4e5f6a7b8c9/mcp?apiKey=canary-key", {})
    said = "Redirect to https://m.example/s/a1b2c3d4e5f6a7b8c9/mcp?apiKey=canary-key"
    assert where.known().hide(said) == "Redirect to https://m.example/s/***/mcp?apiKey=***"


def test_settings_of_a_server_that_are_no_credentials_stay_readable() -> None:
    where = Where(None, {}, ("program",), {"ROOT": "/srv/project", "PROFILE": "development", "API_KEY": "canary-key"})
    said = "/srv/project/development is fine, canary-key is not"
    assert where.known().hide(said) == "/srv/project/development is fine, *** is not"


async def test_a_declared_server_that_the_policy_refuses_is_never_connected_to() -> None:
    async with HttpMcpServer() as server:
        session = McpServers(Mcp(), client_context).declared(server.url, {})
        with pytest.raises(ToolError, match="which is not allowed here"):
            await session.tools()
        await session.close()
    assert server.headers == []


@pytest.mark.parametrize("arguments", ["[]", "{", '"x"'])
async def test_arguments_that_are_no_object_are_not_sent(arguments: str) -> None:
    session = McpServers(Mcp(), client_context).declared("http://127.0.0.1:9/", {})
    ran = await session.run(tool("add"), arguments)
    assert ran.error == "The arguments are not a JSON object."
    await session.close()


async def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(module.importlib, "import_module", missing)
    session = McpSession(Where("http://127.0.0.1:9/", {}), McpServers(Mcp(), client_context).policy, client_context)
    with pytest.raises(ToolError, match=r"install agentic-proxy with its extra \[mcp\]"):
        await session.tools()
