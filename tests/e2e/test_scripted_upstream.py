"""The scripted upstream alone in front of the real Codex: what the other tests here lean on must itself be right."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.codex import Setup, run_codex
from support.turns import Call, Cut, Disconnect, Failed, Say, Status, Turn
from support.upstream import Upstream
from support.workspace import Workspace

MCP_SERVER = [sys.executable, str(Path(__file__).parents[1] / "support" / "mcp_server.py")]


async def test_codex_edits_a_file_when_the_upstream_calls_its_custom_apply_patch(workspace: Workspace) -> None:
    async with Upstream(workspace.edit, Say(workspace.final, reasoning="The file is changed.")) as upstream:
        run = await run_codex(upstream.url, workspace.prompt, repo=workspace.repo, home=workspace.home)
    assert (run.exit_code, run.final_text, workspace.changed) == (0, workspace.final, True), str(run)
    assert [len(run.items("file_change")), run.reconnects, len(upstream.posts)] == [1, 0, 2]
    assert upstream.posts[1].body["input"][-1]["type"] == "custom_tool_call_output"


@pytest.mark.parametrize(("model", "tool"), [("gpt-5.5", "shell"), ("gpt-5.6-luna", "exec")])
async def test_codex_edits_a_file_by_the_tool_that_the_turn_names(workspace: Workspace, model: str, tool: str) -> None:
    edit = replace(workspace.edit, tool=tool)
    async with Upstream(edit, Say(workspace.final)) as upstream:
        run = await run_codex(
            upstream.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=Setup(model=model)
        )
    assert (run.exit_code, run.final_text, workspace.changed) == (0, workspace.final, True), str(run)


async def test_codex_calls_its_mcp_server_when_the_upstream_names_the_namespaced_tool(workspace: Workspace) -> None:
    setup = Setup(model="grok-4", mcp_servers={"demo": MCP_SERVER})
    async with Upstream(Call("mcp__demo__add", {"a": 1, "b": 2}), Say(workspace.final)) as upstream:
        run = await run_codex(upstream.url, "Add 1 and 2.", repo=workspace.repo, home=workspace.home, setup=setup)
    (call,) = run.items("mcp_tool_call")
    assert (run.exit_code, run.final_text, call["status"]) == (0, workspace.final, "completed"), str(run)
    assert call["result"]["content"] == [{"type": "text", "text": "3"}]


@pytest.mark.parametrize(
    "fault",
    [Status(503), Failed("server_error"), Cut("created"), Cut("text"), Disconnect()],
    ids=["status", "failed", "cut_created", "cut_text", "disconnect"],
)
async def test_codex_recovers_from_one_fault_of_the_scripted_upstream(workspace: Workspace, fault: Turn) -> None:
    async with Upstream(fault, workspace.edit, Say(workspace.final)) as upstream:
        run = await run_codex(upstream.url, workspace.prompt, repo=workspace.repo, home=workspace.home)
    assert (run.exit_code, run.final_text, workspace.changed, len(upstream.posts)) == (0, workspace.final, True, 3)
