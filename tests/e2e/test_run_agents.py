"""``agentic-proxy run`` with the real Claude Code, opencode and qwen-code: one command, from nothing to an edited file,
whatever the upstream speaks."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from support.agents import AGENTS, Agent, Ran
from support.command_line import PROGRAM, environment
from support.proxy import provider
from support.turns import Call, Say
from support.upstream import Upstream
from support.workspace import Workspace

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
WIRES = pytest.mark.parametrize("wire", PATHS)
LIMIT = 300.0
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


async def run(agent: Agent, workspace: Workspace, upstream: Upstream, wire: str, *words: str) -> Ran:
    """``agentic-proxy run AGENT -- WORDS`` in front of an upstream of this wire."""
    file = workspace.home / "config.yaml"
    file.write_text(json.dumps({"providers": [provider("up", upstream.url, wire, models=["m"])]}))
    env = environment(workspace.home, **{agent.variable: agent.binary}, **dict(agent.environment))
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "run", agent.name, "--config", str(file), "--model", "m", "--", *agent.words, *words),
        cwd=workspace.repo,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), LIMIT)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ran(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))


@WIRES
@pytest.mark.parametrize("name", AGENTS)
async def test_one_command_ends_with_an_edited_file(name: str, wire: str, tmp_path: Path) -> None:
    workspace, agent = Workspace.make(tmp_path), AGENTS[name]
    thought = Say("I will.", reasoning="Think first.")
    async with Upstream((thought, agent.edit(workspace)), Say(workspace.final), aside=Say("A title")) as upstream:
        ran = await run(agent, workspace, upstream, wire, workspace.prompt)
    assert (ran.code, workspace.changed) == (0, True), ran
    assert workspace.final in ran.out
    assert {post.path for post in upstream.posts} == {PATHS[wire]}
    with_tools = [post.body for post in upstream.posts if post.body.get("tools")]
    assert len(with_tools) >= 2 and all(body["model"] == "m" for body in with_tools)
    assert agent.shell in json.dumps(with_tools[0]["tools"])


@WIRES
async def test_claude_code_counts_what_the_upstream_counted(wire: str, tmp_path: Path) -> None:
    workspace = Workspace.make(tmp_path)
    async with Upstream(Say(workspace.final, reasoning="Think.")) as upstream:
        ran = await run(AGENTS["claude"], workspace, upstream, wire, "--output-format", "json", "hi")
    told = json.loads(ran.out)
    usage = told["usage"]
    assert (ran.code, told["result"]) == (0, workspace.final), ran
    assert (usage["input_tokens"], usage["output_tokens"]) == (100, 10)


@WIRES
async def test_claude_code_shows_a_picture_to_the_model(wire: str, tmp_path: Path) -> None:
    workspace = Workspace.make(tmp_path)
    picture = workspace.repo / "dot.png"
    picture.write_bytes(PNG)
    async with Upstream(Call("Read", {"file_path": str(picture)}), Say(workspace.final)) as upstream:
        ran = await run(AGENTS["claude"], workspace, upstream, wire, "What is in dot.png?")
    assert (ran.code, workspace.final in ran.out) == (0, True), ran
    (shown,) = pictures(upstream.posts[-1].body)
    assert shown.startswith("iVBORw0KGgo")


def pictures(value: Any) -> list[str]:
    """The data of every image in a request of any format."""
    if isinstance(value, list):
        return [each for item in value for each in pictures(item)]
    if not isinstance(value, dict):
        return []
    match value.get("type"):
        case "image":
            return [value["source"]["data"]]
        case "image_url":
            return [value["image_url"]["url"].partition("base64,")[2]]
        case "input_image":
            return [value["image_url"].partition("base64,")[2]]
        case _:
            return [each for item in value.values() for each in pictures(item)]
