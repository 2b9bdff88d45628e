"""The real Claude Code edits a real file through the proxy, whatever the upstream speaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agents import run_claude
from support.proxy import provider, running_proxy
from support.turns import Call, Say
from support.upstream import Upstream
from support.workspace import Workspace

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@pytest.mark.parametrize("wire", PATHS)
async def test_claude_code_runs_a_tool_and_answers(wire: str, tmp_path: Path) -> None:
    workspace = Workspace.make(tmp_path)
    edit = Call("Bash", {"command": f"sed -i s/{workspace.old}/{workspace.new}/ hello.txt", "description": "Edit"})
    async with Upstream((Say("I will."), edit), Say(workspace.final)) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["m"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            ran = await run_claude(proxy.url, "m", workspace)
    assert (ran.code, workspace.changed) == (0, True), ran
    assert workspace.final in ran.out
    assert {post.path for post in upstream.posts} == {PATHS[wire]}
    assert all("sk-client" not in str(post.headers) for post in upstream.posts)
