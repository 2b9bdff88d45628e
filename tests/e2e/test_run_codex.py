"""``agentic-proxy run codex`` with the real Codex: one command, from nothing to an edited file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.codex import codex_binary
from support.command_line import PROGRAM, environment
from support.proxy import provider, running_proxy
from support.turns import Say, Silence, Status
from support.upstream import Upstream
from support.workspace import Workspace

LIMIT = 300.0
EXEC = ("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")


@asynccontextmanager
async def started(workspace: Workspace, *arguments: str, prompt: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
    """``agentic-proxy run codex ARGUMENTS -- exec PROMPT`` in the workspace; killed with everything if it is left."""
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "run", "codex", *arguments, "--", *EXEC, prompt or workspace.prompt),
        cwd=workspace.repo,
        env=environment(workspace.home, CODEX_BIN=codex_binary(), RUST_LOG="error"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=16 << 20,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, list[dict[str, Any]], str]:
    """Exit code, Codex's JSON events, standard error."""
    out, err = await asyncio.wait_for(process.communicate(), LIMIT)
    return process.returncode, [json.loads(line) for line in out.splitlines() if line.startswith(b"{")], err.decode()


def config(workspace: Workspace, upstream: Upstream, wire: str = "chat") -> str:
    file = workspace.home / "config.yaml"
    file.write_text(json.dumps({"providers": [provider("up", upstream.url, wire, models=["grok-4"])]}))
    return str(file)


def homes_left(workspace: Workspace) -> list[Path]:
    return list((workspace.home / ".local" / "state" / "agentic_proxy" / "homes").iterdir())


@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_codex_edits_a_file(wire: str, workspace: Workspace) -> None:
    async with (
        Upstream(workspace.edit, Say(workspace.final)) as upstream,
        started(workspace, "--config", config(workspace, upstream, wire)) as process,
    ):
        code, events, err = await ended(process)
    finished = [event["item"] for event in events if event["type"] == "item.completed"]
    assert (code, workspace.changed) == (0, True), err
    assert [item["type"] for item in finished if item["type"] in ("file_change", "agent_message", "error")] == [
        "file_change",
        "agent_message",
    ]
    assert finished[-1]["text"] == workspace.final
    assert err.splitlines()[0] == "agentic-proxy: Codex with up/grok-4"
    assert [word for word in ("warning", "Traceback") if word in err] == []
    # A model Codex has never heard of is shown apply_patch, so the catalog has arrived.
    assert len(upstream.posts) == 2
    assert homes_left(workspace) == []
    assert not (workspace.home / ".codex").exists()


async def test_codex_creates_a_file_with_nothing_configured_at_all(workspace: Workspace) -> None:
    prompt = "Create the file greeting.txt with the text hi"
    async with started(workspace, "--model", "demo/demo", prompt=prompt) as process:
        code, _, err = await ended(process)
    assert code == 0, err
    assert (workspace.repo / "greeting.txt").read_text() == "hi\n"


async def test_codexs_exit_code_passes_through_and_the_log_is_named(workspace: Workspace) -> None:
    async with (
        Upstream(Status(400)) as upstream,
        started(workspace, "--config", config(workspace, upstream)) as process,
    ):
        code, events, err = await ended(process)
    assert (code, events[-1]["type"]) == (1, "turn.failed")
    last = err.splitlines()[-1]
    assert last.startswith("agentic-proxy: codex ended with 1; the proxy's log: ")
    assert Path(last.rpartition(": ")[2]).exists()


async def test_an_interrupt_reaches_codex_and_nothing_is_left(workspace: Workspace) -> None:
    async with (
        Upstream(Silence()) as upstream,
        started(workspace, "--config", config(workspace, upstream)) as process,
    ):
        await asyncio.wait_for(upstream.stream_silent.wait(), LIMIT)
        process.send_signal(signal.SIGINT)
        code, _, err = await ended(process)
        await asyncio.wait_for(upstream.stream_abandoned.wait(), LIMIT)
    assert code not in (0, None), err
    assert "Traceback" not in err
    assert homes_left(workspace) == []


async def test_it_joins_a_proxy_that_runs_and_is_let_in(workspace: Workspace) -> None:
    async with Upstream(workspace.edit, Say(workspace.final)) as upstream:
        entry = provider("up", upstream.url, "chat", models=["grok-4"])
        served = {"server": {"api_keys": ["sk-of-the-user-alone"]}, "providers": [entry]}
        async with running_proxy(served, workspace.home) as proxy, started(workspace) as process:
            code, events, err = await ended(process)
    assert (code, workspace.changed) == (0, True), err
    assert err.splitlines()[0] == f"agentic-proxy: Codex with up/grok-4 on the running proxy at {proxy.url}"
    assert events[-1]["type"] == "turn.completed"
