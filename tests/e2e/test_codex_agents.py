"""The real Codex sends a sub-agent to work: the model behind the sub-agent reads its task, and the one behind its
parent the answer, whatever the upstream speaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.codex import Setup, run_codex
from support.proxy import provider, running_proxy
from support.turns import Call, Json, Say, declared_tools
from support.upstream import Upstream
from support.workspace import Workspace

AGENTS = "[features]\nmulti_agent_v2 = true\n"
SPAWN = "collaboration__spawn_agent"
WAIT = "collaboration__wait_agent"


def is_sub_agents(body: Json) -> bool:
    """A sub-agent has no tools for agents of its own."""
    return all(tool.flat != SPAWN for tool in declared_tools(body))


def history(body: Json) -> list[Json]:
    items: list[Json] = body.get("messages") or body["input"]
    return items


@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
async def test_a_sub_agents_model_reads_its_task_and_the_parents_model_the_answer(
    wire: str, workspace: Workspace, tmp_path: Path
) -> None:
    task, answer = f"Look for {workspace.old}.", f"It is {workspace.new}."
    turns = (Call(SPAWN, {"task_name": "look", "message": task}), Call(WAIT, {}), Say(workspace.final))
    async with Upstream(*turns, aside=Say(answer), is_aside=is_sub_agents) as upstream:
        configuration = {"providers": [provider("up", upstream.url, wire, models=["gpt-5.5"])]}
        async with running_proxy(configuration, tmp_path / "proxy") as proxy:
            home, repo, setup = workspace.home, workspace.repo, Setup(extra=AGENTS)
            run = await run_codex(proxy.url, "Have it looked for.", repo=repo, home=home, setup=setup)
    assert (run.exit_code, run.final_text, run.reconnects) == (0, workspace.final, 0), str(run)
    (asked,) = [history(post.body) for post in upstream.posts if is_sub_agents(post.body)]
    assert asked[-1]["role"] == "user"
    assert task in json.dumps(asked[-1]["content"])
    told = [history(post.body) for post in upstream.posts if not is_sub_agents(post.body)][-1]
    assert [item for item in told if item.get("role") == "user" and answer in json.dumps(item["content"])]
    for post in upstream.posts:
        assert b'"agent_message"' not in post.raw
        assert b'"encrypted":true' not in post.raw
