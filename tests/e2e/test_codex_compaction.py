"""The real Codex compacts a long conversation through the proxy, which does it on any upstream, and goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.breaks import FRAMES, REQUEST
from support.codex import Setup, run_codex
from support.proxy import provider, running_proxy
from support.turns import Call, Json, Raw, Say
from support.upstream import Received, Upstream
from support.wires import USAGE_IN, USAGE_OUT
from support.workspace import Workspace

LIMIT = "model_auto_compact_token_limit = 50000"
CODEX = Setup(model="grok-4", catalog_url=True, extra=LIMIT)
REMOTE = replace(CODEX, provider_extra='[model_providers.proxy.capabilities]\nremote_compaction = "v2"')
CHECKPOINT = "CONTEXT CHECKPOINT COMPACTION"


def long_turn(wire: str) -> Raw:
    """A call in a response whose usage says that the history has grown to 60,000 tokens."""
    data = b"".join(FRAMES[wire](REQUEST, (Call("exec_command", {"cmd": "echo one"}),), None))
    for name in (b"input_tokens", b"prompt_tokens"):
        data = data.replace(b'"%b": %d' % (name, USAGE_IN), b'"%b": 60000' % name)
    return Raw(data.replace(b'"total_tokens": %d' % (USAGE_IN + USAGE_OUT), b'"total_tokens": 60010'))


def said(request: Received) -> list[str]:
    """Role and text of everything that went upstream, cut short."""
    entries: list[Json] = request.body.get("messages") or request.body["input"]
    return [f"{entry.get('role', entry.get('type'))}: {entry.get('content')}" for entry in entries]


@pytest.mark.parametrize("setup", [CODEX, REMOTE], ids=["local", "remote_v2"])
@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.requirement("U10")
async def test_codex_compacts_and_goes_on(wire: str, setup: Setup, workspace: Workspace, tmp_path: Path) -> None:
    turns = (long_turn(wire), Say("THE SUMMARY"), workspace.edit, Say(workspace.final))
    async with Upstream(*turns) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["grok-4"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = await run_codex(
                proxy.url, workspace.prompt, repo=workspace.repo, home=tmp_path / "home", setup=setup
            )
    assert (run.exit_code, run.final_text, run.reconnects) == (0, workspace.final, 0), run
    assert workspace.changed
    summaries = [CHECKPOINT in said(request)[-1] for request in upstream.posts]
    assert summaries == [False, True, False, False]
    assert [bool(request.body.get("tools")) for request in upstream.posts] == [True, False, True, True]
    after = " ".join(said(upstream.posts[2]))
    assert "THE SUMMARY" in after
    assert workspace.prompt in after
    assert "echo one" not in after
    for word in ("compaction_trigger", '"encrypted_content"', "apx1."):
        assert all(word not in request.raw.decode() for request in upstream.posts)
