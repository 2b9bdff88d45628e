"""The real Codex with a model behind Chat Completions: the proxy searches for it, its own MCP server stays its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.codex import Setup, run_codex
from support.proxy import running_proxy
from support.search_server import SearchServer
from support.turns import Call, Say
from support.upstream import Upstream
from support.workspace import Workspace

MCP_SERVER = [sys.executable, str(Path(__file__).parents[1] / "support" / "mcp_server.py")]


async def test_codex_works_on_without_a_search_that_nobody_can_run(workspace: Workspace, tmp_path: Path) -> None:
    async with Upstream(Say("I cannot search.")) as upstream:
        provider = {"name": "up", "type": "openai-compatible", "base_url": f"{upstream.url}/v1", "models": ["grok-4"]}
        async with running_proxy({"providers": [provider]}, tmp_path / "proxy") as proxy:
            home, repo, setup = workspace.home, workspace.repo, Setup(model="grok-4")
            run = await run_codex(proxy.url, "When is high tide?", repo=repo, home=home, setup=setup)
    assert (run.exit_code, run.final_text) == (0, "I cannot search."), str(run)
    (request,) = upstream.posts
    names = [tool["function"]["name"] for tool in request.body["tools"]]
    assert names
    assert "web_search" not in names


@pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
async def test_codex_sees_a_searched_answer_while_its_own_mcp_server_is_its_own(
    websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    turns = (
        Call("web_search", {"query": "tides"}),
        Call("mcp__demo__add", {"a": 40, "b": 2}),
        Say("High tide is at noon [1], and the sum is 42."),
    )
    setup = Setup(model="grok-4", websockets=websockets, mcp_servers={"demo": [*MCP_SERVER, "2"]})
    async with SearchServer() as server, Upstream(*turns) as upstream:
        configuration = {
            "providers": [
                {"name": "up", "type": "openai-compatible", "base_url": f"{upstream.url}/v1", "api_key": "sk-of-a-test",
                 "models": ["grok-4"]}
            ],
            "tools": {"web_search": {"provider": "brave", "api_key": "brave-key", "base_url": server.url}},
        }  # fmt: skip
        async with running_proxy(configuration, tmp_path / "proxy") as proxy:
            home, repo = workspace.home, workspace.repo
            run = await run_codex(proxy.url, "When is high tide?", repo=repo, home=home, setup=setup)
    assert (run.exit_code, run.final_text, run.reconnects) == (
        0, "High tide is at noon [1], and the sum is 42.", 0,
    ), str(run)  # fmt: skip
    assert [each.params["q"] for each in server.asked] == ["tides"]
    assert len(run.items("mcp_tool_call")) == 1, "Codex ran its own tool itself"
    bodies = [request.body for request in upstream.posts]
    assert len(bodies) == 3
    results = [message["content"] for message in bodies[2]["messages"] if message["role"] == "tool"]
    assert "42" in results[-1]
