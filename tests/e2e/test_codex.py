"""The real Codex edits a real file through the proxy, whatever the upstream speaks, however the model edits, and on
both ways to the proxy: HTTP and one WebSocket."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from support.codex import API_KEY, CodexRun, Setup, run_codex
from support.proxy import UPSTREAM_KEY, Proxy, provider, running_proxy
from support.tap import Tap
from support.turns import Call, Json, Say, Turn
from support.upstream import Received, Upstream
from support.workspace import Workspace

WIRES = ("chat", "responses")
WEBSOCKETS = pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
MODELS = ["gpt-5.5", "gpt-5.6-luna", "grok-4"]
MCP_SERVER = [sys.executable, str(Path(__file__).parents[1] / "support" / "mcp_server.py")]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to edit: the model Codex believes in, the tool the upstream calls, that tool's name up there, and what
    Codex says when it ran well."""

    model: str
    tool: Literal["apply_patch", "exec", "shell"]
    name: str
    says: str
    catalog_url: bool = False


CASES = {
    "bare_gpt_5_5_with_custom_apply_patch": Case(
        "gpt-5.5", "apply_patch", "apply_patch", "Success. Updated the following files"
    ),
    "grok_4_with_the_catalog_of_the_proxy": Case(
        "grok-4", "apply_patch", "apply_patch", "Success. Updated the following files", catalog_url=True
    ),
    "shell_command": Case("gpt-5.5", "shell", "exec_command", "Process exited with code 0"),
    "code_mode_exec_in_namespace_functions": Case("gpt-5.6-luna", "exec", "functions__exec", "Script completed"),
}


def configuration(upstream: Upstream, wire: str) -> Json:
    return {"providers": [provider("up", upstream.url, wire, models=MODELS)]}


@asynccontextmanager
async def between(
    turns: tuple[Turn, ...], wire: str, websockets: bool, folder: Path
) -> AsyncIterator[tuple[Upstream, Proxy, str]]:
    """The upstream, the proxy before it, and the URL at which Codex finds the proxy. Over a WebSocket Codex must have
    sent no request of its own to a model."""
    async with Upstream(*turns) as upstream, running_proxy(configuration(upstream, wire), folder) as proxy:
        async with Tap(proxy.url) as tap:
            yield upstream, proxy, tap.url
        sent = [request for request in tap.requests if request.endswith("/v1/responses")]
        assert sent == (["GET /v1/responses"] if websockets else ["POST /v1/responses"] * len(upstream.posts))


def tool_names(request: Received) -> list[str]:
    """Names of the tools that went upstream; all of them must be plain functions."""
    assert {tool["type"] for tool in request.body["tools"]} == {"function"}
    return [tool.get("function", tool)["name"] for tool in request.body["tools"]]


def last_exchange(request: Received) -> tuple[str, str]:
    """(name of the tool called, text of its result) at the end of the history that went upstream."""
    if "messages" in request.body:
        call, result = request.body["messages"][-2:]
        assert result["role"] == "tool"
        return call["tool_calls"][-1]["function"]["name"], text_of(result["content"])
    call, result = request.body["input"][-2:]
    assert (call["type"], result["type"]) == ("function_call", "function_call_output")
    return call["name"], text_of(result["output"])


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def check_what_went_upstream(upstream: Upstream, wire: str, model: str, proxy: Proxy) -> None:
    """What must hold for every pair of requests of a turn with one tool call."""
    first, second = upstream.posts
    for request in (first, second):
        assert (request.path, request.body["model"], request.body["stream"]) == (PATHS[wire], model, True)
        assert request.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
        assert API_KEY not in str(request.headers) + request.raw.decode()
        assert [name for name in request.headers if name.startswith("x-codex")] == []
        assert "client_metadata" not in request.body
    # The same history, byte for byte, up to the new items: upstream prompt caches live on that.
    assert second.raw.startswith(first.raw.removesuffix(b"]}"))
    assert tool_names(first) == tool_names(second)
    said = "\n".join(proxy.stderr)
    assert [word for word in ("Traceback", API_KEY, UPSTREAM_KEY) if word in said] == []


def check_run(run: CodexRun, workspace: Workspace) -> None:
    assert (run.exit_code, run.final_text, run.reconnects) == (0, workspace.final, 0), str(run)


@WEBSOCKETS
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_codex_edits_a_file(
    case: Case, wire: str, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    turns = replace(workspace.edit, tool=case.tool), Say(workspace.final, reasoning="The line is replaced.")
    setup = Setup(model=case.model, catalog_url=case.catalog_url, websockets=websockets)
    async with between(turns, wire, websockets, tmp_path / "proxy") as (upstream, proxy, url):
        run = await run_codex(url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup)
    check_run(run, workspace)
    assert workspace.changed, str(run)
    assert len(run.items("file_change")) == (0 if case.tool == "shell" else 1)
    check_what_went_upstream(upstream, wire, case.model, proxy)
    assert case.name in tool_names(upstream.posts[0])
    called, result = last_exchange(upstream.posts[1])
    assert called == case.name
    assert case.says in result


@WEBSOCKETS
@pytest.mark.parametrize("wire", WIRES)
async def test_codex_calls_its_mcp_server_through_a_namespace(
    wire: str, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    turns = Call("mcp__demo__add", {"a": 40, "b": 2}), Say(workspace.final)
    setup = Setup(model="grok-4", catalog_url=True, mcp_servers={"demo": MCP_SERVER}, websockets=websockets)
    async with between(turns, wire, websockets, tmp_path / "proxy") as (upstream, proxy, url):
        run = await run_codex(url, "Add 40 and 2.", repo=workspace.repo, home=workspace.home, setup=setup)
    check_run(run, workspace)
    (call,) = run.items("mcp_tool_call")
    assert (call["server"], call["tool"], call["status"]) == ("demo", "add", "completed")
    check_what_went_upstream(upstream, wire, "grok-4", proxy)
    called, result = last_exchange(upstream.posts[1])
    assert called == "mcp__demo__add"
    assert "42" in result


@WEBSOCKETS
@pytest.mark.parametrize("wire", WIRES)
async def test_codex_calls_a_tool_that_it_found_by_tool_search(
    wire: str, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    # gpt-5.5 gets MCP tools only by searching; what was found never enters `tools`, only the history.
    turns = (
        Call("tool_search", {"query": "add integers"}),
        Call("mcp__demo__add", {"a": 40, "b": 2}),
        Say(workspace.final),
    )
    setup = Setup(mcp_servers={"demo": MCP_SERVER}, websockets=websockets)
    async with between(turns, wire, websockets, tmp_path / "proxy") as (upstream, _proxy, url):
        run = await run_codex(url, "Add 40 and 2.", repo=workspace.repo, home=workspace.home, setup=setup)
    check_run(run, workspace)
    assert [(call["tool"], call["status"]) for call in run.items("mcp_tool_call")] == [("add", "completed")]
    assert ["mcp__demo__add" in tool_names(post) for post in upstream.posts] == [False, True, True]
    called, result = last_exchange(upstream.posts[2])
    assert called == "mcp__demo__add"
    assert "42" in result


@WEBSOCKETS
@pytest.mark.parametrize("wire", WIRES)
async def test_two_calls_in_one_response_both_run(
    wire: str, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    both = (Say("Both at once."), workspace.edit, replace(workspace.edit, tool="shell", old="first", new="primary"))
    turns = both, Say(workspace.final)
    async with between(turns, wire, websockets, tmp_path / "proxy") as (_upstream, _proxy, url):
        run = await run_codex(
            url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=Setup(websockets=websockets)
        )
    check_run(run, workspace)
    assert workspace.file.read_text() == workspace.text(workspace.new).replace("first", "primary")
    assert [item["text"] for item in run.items("agent_message")] == ["Both at once.", workspace.final]


async def test_codex_goes_to_http_at_once_where_websockets_are_switched_off(
    workspace: Workspace, tmp_path: Path
) -> None:
    async with Upstream(workspace.edit, Say(workspace.final)) as upstream:
        config = {"server": {"websocket": False}, **configuration(upstream, "chat")}
        async with running_proxy(config, tmp_path / "proxy") as proxy, Tap(proxy.url) as tap:
            setup = Setup(websockets=True)
            run = await run_codex(tap.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup)
    check_run(run, workspace)
    asked = [request for request in tap.requests if request.endswith("/v1/responses")]
    assert asked == ["GET /v1/responses", "POST /v1/responses", "POST /v1/responses"]
