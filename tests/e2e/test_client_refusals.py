"""What the real clients make of a request that is refused for good: they show the proxy's own words, and ask once where
the status allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agents import run_claude
from support.codex import Setup, run_codex
from support.proxy import provider, running_proxy
from support.tap import Tap
from support.turns import Json, Say, Status, Turn
from support.upstream import Upstream
from support.workspace import Workspace

REFUSALS: dict[str, tuple[Turn, Json, str]] = {
    "too large for the upstream": (Status(413), {}, "answered HTTP 413: scripted"),
    "unprocessable": (Status(422), {}, "answered HTTP 422: scripted"),
    "a refused key": (Status(401), {}, "Check the API key of provider 'up' in the proxy's configuration."),
    "a forbidden model": (Status(403), {}, "answered HTTP 403: scripted"),
    "a missing model": (Status(404), {}, "answered HTTP 404: scripted"),
    "bad": (Status(400), {}, "answered HTTP 400: scripted"),
    "too large for the proxy": (Say("never"), {"limits": {"body": "4KiB"}}, "Raise limits.body to accept it."),
}
"""What the upstream does, settings of the proxy, and what a person must be able to read."""
every_refusal = pytest.mark.parametrize(("turn", "settings", "words"), REFUSALS.values(), ids=REFUSALS)


@every_refusal
async def test_claude_code_asks_once_and_shows_why(turn: Turn, settings: Json, words: str, tmp_path: Path) -> None:
    async with Upstream(turn) as upstream:
        config = {"providers": [provider("up", upstream.url, "messages", models=["m"])], **settings}
        async with running_proxy(config, tmp_path / "proxy") as proxy, Tap(proxy.url) as tap:
            ran = await run_claude(tap.url, "m", Workspace.make(tmp_path))
    assert tap.requests.count("POST /v1/messages") == 1, tap.requests
    assert (ran.code, words in ran.out) == (1, True), ran


@every_refusal
async def test_codex_shows_why(turn: Turn, settings: Json, words: str, tmp_path: Path) -> None:
    space = Workspace.make(tmp_path)
    async with Upstream(turn) as upstream:
        config = {"providers": [provider("up", upstream.url, "responses", models=["m"])], **settings}
        async with running_proxy(config, tmp_path / "proxy") as proxy, Tap(proxy.url) as tap:
            ran = await run_codex(tap.url, "Hello.", repo=space.repo, home=space.home, setup=Setup(model="m"))
    # Codex asks six times at any status but 400; a refused key is none, for the request was good.
    asked = 6 if isinstance(turn, Status) and turn.status in (401, 403) else 1
    assert tap.requests.count("POST /v1/responses") == asked, tap.requests
    assert (ran.exit_code, words in ran.stdout) == (1, True), str(ran)
