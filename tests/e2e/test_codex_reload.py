"""The real Codex in the middle of a session while the proxy under it gets another configuration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from support.codex import Setup, run_codex
from support.proxy import provider, running_proxy
from support.turns import Say, Turn
from support.upstream import Upstream
from support.workspace import Workspace


class Interrupted(Upstream):
    """Does something else when it has been asked, before it says a word."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn)
        self.before: Callable[[], Awaitable[object]] | None = None

    async def _stream(self, request: web.Request, parts: list[bytes], *, silent: bool) -> web.StreamResponse:
        if self.before is not None:
            await self.before()
        return await super()._stream(request, parts, silent=silent)


@pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
async def test_codex_notices_nothing_when_its_provider_is_exchanged_in_the_middle_of_a_turn(
    websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    async with Interrupted(workspace.edit) as old, Upstream(Say(workspace.final)) as new:
        before = {"providers": [provider("old", old.url, "chat", models=["gpt-5.5"])]}
        after = {"providers": [provider("new", new.url, "responses", models=["gpt-5.5"])]}
        async with running_proxy(before, tmp_path / "proxy") as proxy:
            old.before = lambda: proxy.reload(after)
            setup = Setup(websockets=websockets)
            run = await run_codex(
                proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup
            )
            assert "configuration reloaded: providers: new added, old removed" in proxy.stderr
    assert (run.exit_code, run.final_text, workspace.changed, run.reconnects) == (0, workspace.final, True, 0), str(run)
    assert (len(old.posts), len(new.posts), len(run.items("file_change"))) == (1, 1, 1)
