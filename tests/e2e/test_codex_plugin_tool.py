"""The real Codex with a model that is offered the tool of a plugin: the proxy runs it, and Codex reads the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.codex import Setup, run_codex
from support.proxy import provider, running_proxy
from support.turns import Call, Say
from support.upstream import Upstream
from support.workspace import Workspace

PLUGIN = """
PLUGIN_API = 1

async def double(arguments):
    return arguments["n"] * 2

def register(registries):
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    registries.register_tool("double", description="Doubles a number.", parameters=parameters, run=double)
"""


@pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
async def test_codex_gets_an_answer_for_which_the_proxy_ran_the_tool_of_a_plugin(
    websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "proxy"
    folder.mkdir()
    (folder / "double.py").write_text(PLUGIN)
    (folder / "double.py").chmod(0o600)
    async with Upstream(Call("double", {"n": 21}), Say("It is 42.")) as upstream:
        configuration = {
            "providers": [provider("up", upstream.url, "chat", models=["grok-4"])],
            "plugins": ["double.py"],
            "tools": {"offer": ["double"]},
        }
        async with running_proxy(configuration, folder) as proxy:
            home, repo, setup = workspace.home, workspace.repo, Setup(model="grok-4", websockets=websockets)
            run = await run_codex(proxy.url, "Double 21.", repo=repo, home=home, setup=setup)
    assert (run.exit_code, run.final_text, run.reconnects) == (0, "It is 42.", 0), str(run)
    first, second = [request.body for request in upstream.posts]
    assert first["tools"][-1]["function"]["name"] == "double"
    assert [each["content"] for each in second["messages"] if each["role"] == "tool"] == ["42"]
