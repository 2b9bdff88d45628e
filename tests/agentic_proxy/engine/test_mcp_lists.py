"""MCP servers of one turn: lists, calls, what a request may declare, servers that are dead; a real server each time."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.config.model import McpServer
from agentic_proxy.config.secrets import Secret
from support.checkout import ROOT
from support.engines import RecordingSink, body, run_turn
from support.gateway import WIRES, Played, gateway, mcp, play, round_
from support.raw_upstream import LIMIT
from support.sdk_mcp_server import HttpMcpServer
from support.turns import Call, Json, Say
from translators.failure import Failure

SCRIPT = str(ROOT / "tests" / "support" / "sdk_mcp_server.py")
LOCAL = {"local": McpServer(command=(sys.executable, SCRIPT))}
USE: Json = {"type": "mcp", "server_label": "local"}
ADD = Call("mcp__local__add", {"a": 1, "b": 2})


Servers = dict[str, McpServer]


@pytest.fixture
async def local() -> AsyncIterator[Servers]:
    """The same server over HTTP in this process, which starts at once."""
    async with HttpMcpServer() as server:
        yield {"local": McpServer(url=server.url)}


def declared(url: str, **more: Any) -> Json:
    return {"type": "mcp", "server_label": "remote", "server_url": url, "require_approval": "never", **more}


def about(played: Played, index: int) -> list[str]:
    """The kinds of one item's events."""
    return [event["type"].removeprefix("response.") for event in played.events if event.get("output_index") == index]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.requirement("U8")
async def test_a_server_is_listed_behind_in_progress_and_its_tool_called_in_the_stream(wire: str) -> None:
    rounds = round_(wire, ADD), round_(wire, Say("Three."))
    async with gateway(wire, *rounds, tools=mcp(servers=LOCAL)) as (engine, upstream):
        played = await play(engine, upstream, tools=[USE])
    assert played.kinds[:6] == [
        "created", "in_progress", "output_item.added", "mcp_list_tools.in_progress", "mcp_list_tools.completed",
        "output_item.done",
    ]  # fmt: skip
    assert about(played, 1) == [
        "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done",
        "mcp_call.completed", "output_item.done",
    ]  # fmt: skip
    listed, call, message = played.response["output"]
    assert (listed["type"], listed["server_label"], listed["id"][:5]) == ("mcp_list_tools", "local", "mcpl_")
    assert next((tool["name"], tool["annotations"]) for tool in listed["tools"]) == ("add", {"read_only": True})
    assert "error" not in listed
    assert call == {
        "id": call["id"], "type": "mcp_call", "status": "completed", "server_label": "local", "name": "add",
        "arguments": call["arguments"], "output": "3", "error": None, "approval_request_id": None,
    }  # fmt: skip
    assert (json.loads(call["arguments"]), call["id"][:4]) == ({"a": 1, "b": 2}, "mcp_")
    assert message["content"][0]["text"] == "Three."
    assert played.tool_results(1, wire) == ["3"]
    first = played.rounds[0]["tools"][0]
    assert (first.get("name") or first["function"]["name"]) == "mcp__local__add"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("place", ["tools", "input"])
async def test_a_declared_server_gets_its_own_credentials_and_nobody_else_sees_them(
    wire: str, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rounds = (
        round_(wire, Call("mcp__remote__add", {"a": 2, "b": 2})),
        round_(wire, Say("Four.")),
        round_(wire, Say("!")),
    )
    async with HttpMcpServer() as server, gateway(wire, *rounds, tools=mcp(allowed_hosts=("127.0.0.1",))) as (
        engine, upstream,
    ):  # fmt: skip
        tool = declared(server.url, headers={"X-Team": "canary-header"}, authorization="canary-token")
        added = [{"type": "additional_tools", "tools": [tool]}, {"role": "user", "content": "Add."}]
        request = {"tools": [tool]} if place == "tools" else {"tools": None, "input": added}
        played = await play(engine, upstream, **request)
        with_credentials = len(server.headers)
        again = await play(engine, upstream, tools=None, previous_response_id=played.response["id"], input="And again?")
        stored = [line async for line in engine.store.export()]
    assert [item["output"] for item in played.response["output"] if item["type"] == "mcp_call"] == ["4"]
    assert {each.get("authorization") for each in server.headers[:with_credentials]} == {"Bearer canary-token"}
    assert {each.get("x-team") for each in server.headers[:with_credentials]} == {"canary-header"}
    assert again.output() == ["message"], "the conversation has shown its list already"
    assert {each.get("authorization") for each in server.headers[with_credentials:]} == {None}
    everything = [*(each.body for each in upstream.requests), *stored, played.sink.data, *capfd.readouterr()]
    assert not any("canary" in (each if isinstance(each, str) else each.decode()) for each in everything)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_dead_server_is_a_list_with_an_error_and_the_response_goes_on(local: Servers, wire: str) -> None:
    servers = {"dead": McpServer(command=("/nonexistent-program",)), **local}
    async with gateway(wire, round_(wire, Say("Without.")), tools=mcp(servers=servers)) as (engine, upstream):
        played = await play(engine, upstream, tools=[{"type": "mcp", "server_label": "dead"}, USE])
    dead, alive, message = played.response["output"]
    assert (dead["tools"], dead["error"]) == ([], "The MCP server's program cannot be found.")
    assert (len(alive["tools"]), message["content"][0]["text"]) == (4, "Without.")
    assert about(played, 0)[1:3] == ["mcp_list_tools.in_progress", "mcp_list_tools.failed"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_tool_that_fails_is_a_failed_item_and_an_output(local: Servers, wire: str) -> None:
    rounds = round_(wire, Call("mcp__local__fail", {"why": "no"})), round_(wire, Say("It failed."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, upstream):
        played = await play(engine, upstream, tools=[USE])
    call = played.response["output"][1]
    text = "Error executing tool fail"
    assert (call["status"], call["output"]) == ("failed", None)
    assert call["error"] == {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
    assert about(played, 1)[-2:] == ["mcp_call.failed", "output_item.done"]
    assert json.loads(played.tool_results(1, wire)[0]) == {"error": text}


async def test_a_client_that_leaves_cancels_the_call_at_the_server() -> None:
    script = round_("chat", Call("mcp__remote__hang", {}))
    async with HttpMcpServer() as server, gateway("chat", script, tools=mcp(allowed_hosts=("localhost",))) as (
        engine, _,
    ):  # fmt: skip
        turn = asyncio.create_task(run_turn(engine, body(tools=[declared(server.url)]), RecordingSink()))
        async with asyncio.timeout(LIMIT):
            await server.hanging.wait()
            turn.cancel()
            await server.cancelled.wait()
        with pytest.raises(asyncio.CancelledError):
            await turn


async def test_a_call_that_takes_too_long_is_an_output(local: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic_proxy.engine.gateway.CALL_LIMIT", 0.05)
    rounds = round_("chat", Call("mcp__local__hang", {})), round_("chat", Say("Too slow."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        played = await play(engine, upstream, tools=[USE])
    assert played.output("status") == [None, "failed", "completed"]
    assert json.loads(played.tool_results(1, "chat")[0]) == {"error": "The tool did not answer within 60 seconds."}


NARROWED: list[tuple[Any, Any, list[str]]] = [
    (None, None, ["add", "fail", "picture", "hang"]),
    (["add", "hang", "other"], None, ["add", "hang"]),
    (None, ("add", "fail"), ["add", "fail"]),
    (["hang", "fail"], ("add", "fail"), ["fail"]),
    ({"tool_names": ["add", "fail"]}, None, ["add", "fail"]),
    ({"read_only": True}, None, ["add"]),
    ([], None, []),
]


@pytest.mark.parametrize(("asked", "configured", "expected"), NARROWED)
async def test_a_request_may_narrow_what_the_configuration_allows(
    local: Servers, asked: Any, configured: Any, expected: list[str]
) -> None:
    server = replace(local["local"], allowed_tools=configured)
    async with gateway("chat", round_("chat", Say("Ok.")), tools=mcp(servers={"local": server})) as (engine, upstream):
        played = await play(engine, upstream, tools=[{**USE, "allowed_tools": asked}])
    assert [tool["name"] for tool in played.response["output"][0]["tools"]] == expected
    sent = [tool["function"]["name"] for tool in played.rounds[0].get("tools", [])]
    assert sent == [f"mcp__local__{name}" for name in expected]


async def test_a_choice_of_a_server_is_a_choice_among_its_tools(local: Servers) -> None:
    rounds = round_("responses", ADD), round_("responses", Say("Three."))
    async with gateway("responses", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        one = await play(
            engine, upstream, tools=[USE], tool_choice={"type": "mcp", "server_label": "local", "name": "add"}
        )
        some = await play(engine, upstream, tools=[USE], tool_choice={"type": "mcp", "server_label": "local"})
    assert one.rounds[0]["tool_choice"] == {"type": "function", "name": "mcp__local__add"}
    chosen = some.rounds[0]["tool_choice"]
    assert (chosen["type"], chosen["mode"], len(chosen["tools"])) == ("allowed_tools", "required", 4)


async def test_an_upstream_that_runs_mcp_itself_gets_declared_servers_but_not_configured_ones(local: Servers) -> None:
    url = "https://mcp.example.com/sse"
    rounds = round_("responses", ADD), round_("responses", Say("Three."))
    async with gateway("responses", *rounds, tools=mcp(servers=local), custom_tools="native") as (engine, upstream):
        played = await play(engine, upstream, tools=[declared(url, require_approval="always"), USE])
    kinds = [(tool["type"], tool.get("name") or tool["server_label"]) for tool in played.rounds[0]["tools"]]
    assert kinds[:2] == [("mcp", "remote"), ("function", "mcp__local__add")]
    assert [item for item in played.output() if item != "mcp_list_tools"] == ["mcp_call", "message"]


NOWHERE = {"local": McpServer(url="http://127.0.0.1:9/mcp")}
REFUSED: dict[str, tuple[Json, str, str]] = {
    "host_not_allowed": (
        declared("https://evil.example/mcp"), "server_url",
        "`server_url` of an mcp tool names the host 'evil.example', which is not allowed here "
        "(tools.mcp.allowed_hosts in the proxy's configuration).",
    ),
    "other_port_of_this_machine": (declared("http://127.0.0.1:22/"), "server_url", "which is not allowed here"),
    "no_such_label": (
        {"type": "mcp", "server_label": "nobody", "require_approval": "never"}, "server_url",
        "the proxy's configuration (tools.mcp.servers) has no server with this label",
    ),
    "configured_label_with_a_url": ({**declared("https://ok.example/mcp"), "server_label": "local"}, "server_url",
                                    "must be left out"),
    "approval_unknown": (declared("https://ok.example/mcp", require_approval="maybe"), "require_approval", '"always"'),
    "approval_without_names": (declared("https://ok.example/mcp", require_approval={"never": {"tool_names": "a"}}),
                               "require_approval", '{"tool_names": [..]}'),
    "no_label": ({**declared("https://ok.example/mcp"), "server_label": "a b"}, "server_label", "letters, digits"),
    "header_injection": (declared("https://ok.example/mcp", headers={"X": "a\r\nB: c"}), "headers", "header names"),
    "header_value_that_cannot_be_written": (
        declared("https://ok.example/mcp", headers={"X": "\xe9"}), "headers", "printable ASCII characters",
    ),
    "host_header": (declared("https://ok.example/mcp", headers={"Host": "inside"}), "headers", "of the connection"),
    "user_in_url": (declared("https://u:secret@ok.example/mcp"), "server_url", "must not hold a user name"),
    "other_scheme": (declared("file:///etc/passwd"), "server_url", "must begin with http"),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "field", "text"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("streaming", [True, False])
async def test_what_a_request_may_not_declare_is_a_400_that_names_it(
    tool: Json, field: str, text: str, streaming: bool
) -> None:
    tools = mcp(servers=NOWHERE, allowed_hosts=("ok.example", "127.0.0.1:7"))
    async with gateway("chat", round_("chat", Say("Never.")), tools=tools) as (engine, upstream):
        outcome = await run_turn(engine, body(tools=[tool]), RecordingSink() if streaming else None)
    assert isinstance(outcome.failure, Failure)
    assert (outcome.status, outcome.failure.param) == (400, f"tools[].{field}")
    assert text in outcome.failure.message
    assert "secret" not in outcome.failure.message
    assert upstream.requests == []


async def test_headers_of_a_configured_server_reach_it() -> None:
    rounds = round_("chat", Call("mcp__team__add", {"a": 1, "b": 1})), round_("chat", Say("Two."))
    async with HttpMcpServer() as server:
        servers = {"team": McpServer(url=server.url, headers={"Authorization": Secret("Bearer team-token")})}
        async with gateway("chat", *rounds, tools=mcp(servers=servers)) as (engine, upstream):
            played = await play(engine, upstream, tools=[{"type": "mcp", "server_label": "team"}])
    assert played.response["output"][1]["output"] == "2"
    assert {each.get("authorization") for each in server.headers} == {"Bearer team-token"}
