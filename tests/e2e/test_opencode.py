"""The real opencode edits a real file through the proxy, in each format that it speaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agents import run_opencode
from support.proxy import provider, running_proxy
from support.turns import Call, Say
from support.upstream import Upstream
from support.workspace import Workspace

PACKAGES = ("@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "@ai-sdk/openai")


@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
@pytest.mark.parametrize("npm", PACKAGES)
async def test_opencode_runs_a_tool_and_answers(npm: str, wire: str, tmp_path: Path) -> None:
    workspace = Workspace.make(tmp_path)
    edit = Call("bash", {"command": f"sed -i s/{workspace.old}/{workspace.new}/ hello.txt", "description": "Edit"})
    async with Upstream(edit, Say(workspace.final), aside=Say("A title")) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["m"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            ran = await run_opencode(proxy.url, npm, "m", workspace)
    assert (ran.code, workspace.changed) == (0, True), ran
    assert workspace.final in ran.out
