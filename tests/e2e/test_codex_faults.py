"""What the real Codex makes of an upstream that misbehaves, through the proxy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.codex import Setup, run_codex
from support.proxy import provider, running_proxy
from support.raw_upstream import LIMIT
from support.tap import Tap
from support.turns import Call, Cut, Disconnect, Failed, Raw, Say, Silence, Status, Turn
from support.upstream import Upstream
from support.workspace import Workspace
from translators.failure import ROWS

WIRES = ("chat", "responses")

ONCE: dict[str, Turn] = {
    "failed_server_error": Failed("server_error", "the model broke"),
    "failed_rate_limit": Failed("rate_limit_exceeded", "Please try again in 200ms."),
    "eof_after_created": Cut("created"),
    "eof_in_text": Cut("text"),
    "http_500": Status(500),
    "http_503": Status(503),
    "connection_closed": Disconnect(),
    "patch_arguments_truncated": Call("apply_patch", '{"input":"*** Begin Patch\\n*** Update File: hel'),
    "patch_arguments_not_json": Call("apply_patch", "not json at all"),
    "patch_arguments_wrong_key": Call("apply_patch", {"patch_wrong": 1}),
    "patch_arguments_empty": Call("apply_patch", ""),
}
"""Faults that happen once; then the upstream behaves."""


@pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ONCE.values(), ids=ONCE)
async def test_codex_ends_with_the_file_changed_after_one_fault(
    fault: Turn, wire: str, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    setup = Setup(websockets=websockets)
    async with Upstream(fault, workspace.edit, Say(workspace.final)) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["gpt-5.5"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy, Tap(proxy.url) as tap:
            run = await run_codex(tap.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup)
    # Over a WebSocket it may open another one, but never falls back to HTTP.
    used = {request for request in tap.requests if request.endswith("/v1/responses")}
    assert used == {"GET /v1/responses" if websockets else "POST /v1/responses"}
    assert (run.exit_code, run.final_text, workspace.changed) == (0, workspace.final, True), str(run)
    assert (len(upstream.posts), len(run.items("file_change"))) == (3, 1)
    assert [line for line in proxy.stderr if "Traceback" in line] == []


@pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
@pytest.mark.parametrize("wire", WIRES)
async def test_the_upstream_stream_is_closed_after_codex_was_killed(
    wire: str, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    setup = Setup(websockets=websockets)
    async with Upstream(Silence((Say("I begin"),))) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["gpt-5.5"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = asyncio.create_task(
                run_codex(proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup)
            )
            await asyncio.wait_for(upstream.stream_silent.wait(), 4 * LIMIT)
            run.cancel()
            await asyncio.wait({run})
            await asyncio.wait_for(upstream.stream_abandoned.wait(), LIMIT)
    assert upstream.abandoned == 1


OVERFLOW = {"error": {"message": "too long", "code": "context_length_exceeded"}}
NO_CREDIT = {"error": {"message": "no credit", "code": "insufficient_quota"}}
FOREVER: dict[str, tuple[Turn, int]] = {
    "rejected": (Status(400), ROWS["upstream_rejected"].posts_http),
    "too_large": (Status(413), ROWS["upstream_rejected"].posts_http),
    "unprocessable": (Status(422), ROWS["upstream_rejected"].posts_http),
    "unpaid": (Status(402), ROWS["insufficient_quota"].posts_http),
    "limited": (Status(429), ROWS["rate_limit_exceeded"].posts_http),
    "refused": (Status(401), ROWS["upstream_auth"].posts_http),
    "overflow": (Failed("context_length_exceeded"), ROWS["context_length_exceeded"].posts_stream),
    "quota": (Failed("insufficient_quota"), ROWS["insufficient_quota"].posts_stream),
    "closed": (Cut("text"), ROWS["upstream_closed"].posts_stream),
    "overflow at once": (Status(400, OVERFLOW), ROWS["context_length_exceeded"].posts_http),
    "quota at once": (Status(429, NO_CREDIT), ROWS["insufficient_quota"].posts_http),
    "forbidden": (Status(403), ROWS["upstream_auth"].posts_http),
    "missing": (Status(404), ROWS["upstream_not_found"].posts_http),
    "limited later": (Failed("rate_limit_exceeded", items=(Say("text"),)), ROWS["rate_limit_exceeded"].posts_stream),
    "overloaded": (Status(503), ROWS["upstream_overloaded"].posts_http),
    "overloaded later": (Failed("overloaded_error", items=(Say("text"),)), ROWS["upstream_overloaded"].posts_stream),
    "broken later": (Failed("odd_code", items=(Say("text"),)), ROWS["upstream_error"].posts_stream),
    "late": (Status(504), ROWS["upstream_timeout"].posts_http),
    "silent": (Silence((Say("text"),)), ROWS["upstream_timeout"].posts_stream),
    "unreachable": (Disconnect(), ROWS["upstream_unreachable"].posts_http),
    "empty": (Raw(b""), ROWS["upstream_empty"].posts_http),
    "unintelligible": (Raw(b"<html>sign in</html>", "text/html"), ROWS["upstream_invalid_response"].posts_http),
    "too much": (Raw(b"{" + b" " * (80 << 10), "application/json"), ROWS["upstream_too_large"].posts_http),
    # The same request again is refused in a way that stops Codex: 2 instead of the 6 of its row.
    "arguments": (Call("exec_command", "{"), 2),
    "broken": (Status(500), ROWS["upstream_error"].posts_http),
}
"""Faults that never end: the turn that is played, and the POSTs of Codex that the failure table predicts for it."""


async def test_codex_gives_up_after_as_many_requests_as_the_failure_table_says(tmp_path: Path) -> None:
    # All rows on both wires at once: Codex spends up to 31 seconds on waiting between its tries.
    cases = {f"{name}-{wire}": (turn, wire, posts) for name, (turn, posts) in FOREVER.items() for wire in WIRES}
    async with AsyncExitStack() as stack:
        upstreams = {name: await stack.enter_async_context(Upstream(turn)) for name, (turn, _, _) in cases.items()}
        config = {
            "providers": [
                provider(name, upstreams[name].url, wire, models=["any"]) for name, (_, wire, _) in cases.items()
            ],
            # So that what the proxy asks is what Codex asks, and what is silent or large is so soon.
            "retries": {"same_candidate": 0},
            "timeouts": {"idle": "1s"},
            "limits": {"retained": "64KiB"},
        }
        proxy = await stack.enter_async_context(running_proxy(config, tmp_path / "proxy"))
        spaces = {name: Workspace.make(tmp_path / name) for name in cases}
        runs = await asyncio.gather(
            *(
                run_codex(proxy.url, "Hello.", repo=space.repo, home=space.home, setup=Setup(model=f"{name}/any"))
                for name, space in spaces.items()
            )
        )
        seen = {name: len(upstream.posts) for name, upstream in upstreams.items()}
    assert seen == {name: posts for name, (_, _, posts) in cases.items()}
    assert [run.exit_code for run in runs] == [1] * len(runs)
