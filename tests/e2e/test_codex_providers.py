"""The real Codex reads and edits a file in three turns, with every provider as an upstream that enforces its rules.

Each reasons before it acts and, where it does so in life, wants its reasoning back; Codex asks for reasoning that it
can keep. A refusal anywhere fails the test: the dialects must be right without having to learn.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.codex import Setup, run_codex
from support.providers.rules import PROVIDERS, THOUGHT
from support.providers.upstream import StrictUpstream
from support.proxy import UPSTREAM_KEY, running_proxy
from support.turns import Call, Json, Say
from support.upstream import Received
from support.workspace import Workspace

MCP_SERVER = [sys.executable, str(Path(__file__).parents[1] / "support" / "mcp_server.py")]
THINK = Say("Next step.", reasoning=THOUGHT)


def configuration(name: str, upstream: StrictUpstream) -> Json:
    entry = {"name": name, "type": name, "base_url": f"{upstream.url}/v1", "api_key": UPSTREAM_KEY}
    return {"providers": [{**entry, "models": [{"id": upstream.rules.model, "alias": ["grok-4"]}]}]}


def functions_of(request: Received) -> Json:
    """The functions of a Responses request by name."""
    return {tool["name"]: tool for tool in request.body["tools"] if tool["type"] == "function"}


@pytest.mark.parametrize("name", PROVIDERS)
async def test_codex_reads_and_edits_a_file(name: str, workspace: Workspace, tmp_path: Path) -> None:
    turns = (
        (THINK, Call("exec_command", {"cmd": "cat hello.txt"})),
        (THINK, workspace.edit),
        Say(workspace.final, reasoning=THOUGHT),
    )
    # Codex takes its model for grok-4, which gets apply_patch and no hosted tools but the search.
    setup = Setup(model="grok-4", catalog_url=True, mcp_servers={"demo": [*MCP_SERVER, "5"]})
    async with (
        StrictUpstream(PROVIDERS[name], *turns) as upstream,
        running_proxy(configuration(name, upstream), tmp_path / "proxy") as proxy,
    ):
        run = await run_codex(proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup)
    assert upstream.refused == [], str(run)
    assert (run.exit_code, run.final_text, run.reconnects) == (0, workspace.final, 0), str(run)
    assert (workspace.changed, len(run.items("file_change")), len(upstream.posts)) == (True, 1, 3), str(run)
    first, second, third = upstream.posts
    wire = PROVIDERS[name].wire
    for request in upstream.posts:
        assert request.path == ("/v1/responses" if wire == "responses" else "/v1/chat/completions")
        assert request.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
        assert request.headers["user-agent"].startswith("agentic-proxy/")
    # The same history, byte for byte, up to the new items.
    assert second.raw.startswith(first.raw.removesuffix(b"]}"))
    assert third.raw.startswith(second.raw.removesuffix(b"]}"))


async def test_xai_gets_230_tools_as_dispatchers(workspace: Workspace, tmp_path: Path) -> None:
    turns = (
        (THINK, Call("mcp__demo", {"name": "add", "arguments": {"a": 40, "b": 2}})),
        (THINK, workspace.edit),
        Say(workspace.final),
    )
    setup = Setup(model="grok-4", catalog_url=True, mcp_servers={"demo": [*MCP_SERVER, "229"]})
    async with (
        StrictUpstream(PROVIDERS["xai"], *turns) as upstream,
        running_proxy(configuration("xai", upstream), tmp_path / "proxy") as proxy,
    ):
        run = await run_codex(proxy.url, "Add, then edit.", repo=workspace.repo, home=workspace.home, setup=setup)
    assert upstream.refused == [], str(run)
    assert (run.exit_code, run.final_text, run.reconnects, workspace.changed) == (0, workspace.final, 0, True), str(run)
    assert [(call["server"], call["tool"], call["status"]) for call in run.items("mcp_tool_call")] == [
        ("demo", "add", "completed")
    ]
    tools = functions_of(upstream.posts[0])
    assert len(tools) < 200
    assert len(tools["mcp__demo"]["parameters"]["properties"]["name"]["enum"]) == 230
    assert "apply_patch" in tools
    history = upstream.posts[1].body["input"]
    assert [item["name"] for item in history if item["type"] == "function_call"] == ["mcp__demo"]
    assert "42" in str([item for item in history if item["type"] == "function_call_output"])
    assert [item["encrypted_content"] for item in history if item["type"] == "reasoning"] == ["scripted-reasoning"]
