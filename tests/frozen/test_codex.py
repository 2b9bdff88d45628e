"""One downloaded file and the real Codex: an edited file."""

from __future__ import annotations

import asyncio
import json

from support.built import Built
from support.codex import codex_binary
from support.command_line import environment
from support.proxy import provider
from support.turns import Say
from support.upstream import Upstream
from support.workspace import Workspace

LIMIT = 300.0
EXEC = ("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")


async def test_codex_edits_a_file_through_the_one_file_program(built: Built, workspace: Workspace) -> None:
    temporary = workspace.home / "tmp"
    temporary.mkdir()
    config = workspace.home / "config.yaml"
    async with Upstream(workspace.edit, Say(workspace.final)) as upstream:
        entry = provider("up", upstream.url, "chat", models=["grok-4"])
        config.write_text(json.dumps({"providers": [entry]}), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            *(str(built.program), "run", "codex", "--config", str(config), "--", *EXEC, workspace.prompt),
            cwd=workspace.repo,
            env=environment(workspace.home, CODEX_BIN=codex_binary(), RUST_LOG="error", TMPDIR=str(temporary)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=16 << 20,
        )
        out, err = await asyncio.wait_for(process.communicate(), LIMIT)
    assert (process.returncode, workspace.changed, len(upstream.posts)) == (0, True, 2), err.decode()
    finished = [event["item"] for line in out.splitlines() if (event := json.loads(line))["type"] == "item.completed"]
    assert [item["type"] for item in finished if item["type"] == "file_change"] == ["file_change"]
    assert finished[-1]["text"] == workspace.final
    assert [path.name for path in temporary.iterdir() if path.name.startswith("_MEI")] == []
