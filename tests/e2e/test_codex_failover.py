"""The real Codex in front of providers that die, limit their rate or take their time: it sees one good session."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest
from aiohttp import web

from support.codex import Setup, run_codex
from support.dying_upstream import dying_upstream
from support.proxy import provider, running_proxy
from support.raw_upstream import RawUpstream
from support.turns import Cut, Disconnect, Failed, Raw, Say, Silence, Status, Turn
from support.upstream import Upstream
from support.workspace import Workspace

IDLE = 3.0
"""Seconds of silence that Codex bears in these tests."""
IMPATIENT = Setup(
    provider_extra=f"stream_idle_timeout_ms = {IDLE * 1000:.0f}\nstream_max_retries = 0\nrequest_max_retries = 0"
)
RATE = {"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded", "param": None}}

DEATHS: dict[str, Turn] = {
    "connection_closed": Disconnect(),
    "http_401": Status(401),
    "http_402": Status(402),
    "http_403": Status(403),
    "http_404": Status(404),
    "http_408": Status(408),
    "http_429": Status(429, RATE),
    "http_429_for_an_hour": Status(429, RATE, {"Retry-After": "3600"}),
    "http_500": Status(500),
    "http_502": Status(502),
    "http_503": Status(503),
    "http_504": Status(504),
    "http_529": Status(529),
    "html": Raw(b"<html>sign in</html>", "text/html"),
    "empty": Raw(b""),
    "blank": Raw(b"\r\n\r\n"),
    "comments": Raw(b": waiting\n\n: waiting\n\n"),
    "json_error": Raw(b'{"error":{"message":"no","code":"odd_code"}}', "application/json"),
    "other_json": Raw(b"[1, 2]", "application/json"),
    "bad_frame": Raw(b'data: {"type":"resp\n\n'),
    "bad_utf8": Raw(b'data: {"type":"response.created","x":"\xff\xfe"}\n\n'),
    "eof_after_created": Cut("created"),
    "silence_after_created": Silence(),
    "failed_quota": Failed("insufficient_quota"),
}
NOWHERE = {
    "refused": "http://127.0.0.1:{closed}",
    "no_such_host": "http://upstream.invalid",
    "no_tls": "https://127.0.0.1:{plain}",
}
"""Addresses behind which nothing speaks HTTP: a port that is closed, a name, a port that speaks without TLS."""


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("websockets", [False, True], ids=["http", "websocket"])
@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
async def test_codex_sees_one_clean_turn_when_the_first_of_two_providers_fails(
    death: Turn, websockets: bool, workspace: Workspace, tmp_path: Path
) -> None:
    setup = Setup(websockets=websockets)
    async with Upstream(death) as first, Upstream(workspace.edit, Say(workspace.final)) as second:
        config = {
            "providers": [
                provider("first", first.url, "responses", models=["gpt-5.5"]),
                provider("second", second.url, "chat", models=["gpt-5.5"]),
            ],
            **({"timeouts": {"idle": "2s"}} if isinstance(death, Silence) else {}),
        }
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = await run_codex(proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=setup)
    assert (run.exit_code, run.final_text, workspace.changed, run.reconnects) == (0, workspace.final, True, 0), str(run)
    assert len(run.items("file_change")) == 1
    assert len(first.posts) <= 2, "the session's second turn does not ask the failed provider first"
    assert len(second.posts) == 2


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("address", NOWHERE.values(), ids=NOWHERE)
async def test_codex_sees_one_clean_turn_when_the_first_of_two_providers_is_not_there(
    address: str, workspace: Workspace, tmp_path: Path
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with (
            RawUpstream(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as plain,
            Upstream(workspace.edit, Say(workspace.final)) as second,
        ):
            url = address.format(closed=closed.getsockname()[1], plain=plain.port)
            config = {
                "providers": [
                    provider("first", url, "responses", models=["gpt-5.5"]),
                    provider("second", second.url, "chat", models=["gpt-5.5"]),
                ]
            }
            async with running_proxy(config, tmp_path / "proxy") as proxy:
                run = await run_codex(proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home)
    assert (run.exit_code, run.final_text, workspace.changed, run.reconnects) == (0, workspace.final, True, 0), str(run)
    assert (len(second.posts), len(run.items("file_change"))) == (2, 1)


@pytest.mark.parametrize("moment", ["before_the_head", "after_created"])
async def test_codex_survives_that_its_provider_is_killed_in_the_middle_of_the_session(
    moment: str, workspace: Workspace, tmp_path: Path
) -> None:
    async with dying_upstream(workspace.edit, moment) as (url, _), Upstream(Say(workspace.final)) as second:
        config = {
            "providers": [
                provider("first", url, "chat", models=["gpt-5.5"]),
                provider("second", second.url, "responses", models=["gpt-5.5"]),
            ]
        }
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = await run_codex(proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home)
    assert (run.exit_code, run.final_text, workspace.changed, run.reconnects) == (0, workspace.final, True, 0), str(run)
    assert (len(second.posts), len(run.items("file_change"))) == (1, 1)


async def test_codex_waits_out_a_rate_limit_without_noticing_it(workspace: Workspace, tmp_path: Path) -> None:
    limited = Status(429, RATE, {"Retry-After": "4"})
    async with Upstream(limited, workspace.edit, Say(workspace.final)) as upstream:
        config = {"providers": [provider("up", upstream.url, "chat", models=["gpt-5.5"])]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = await run_codex(
                proxy.url, workspace.prompt, repo=workspace.repo, home=workspace.home, setup=IMPATIENT
            )
    assert (run.exit_code, run.final_text, workspace.changed, run.reconnects) == (0, workspace.final, True, 0), str(run)
    assert (len(upstream.posts), run.seconds >= 4) == (3, True)


class Late(Upstream):
    """Sends nothing after the head for longer than Codex waits: time itself is what is tested here."""

    async def _stream(self, request: web.Request, parts: list[bytes], *, silent: bool) -> web.StreamResponse:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 2.5 * IDLE)
        return await super()._stream(request, parts, silent=silent)


@pytest.mark.requirement("R18")
@pytest.mark.parametrize(("form", "exit_code"), [("event", 0), ("comment", 1)])
async def test_keepalive_events_hold_codex_and_comments_do_not(
    form: str, exit_code: int, workspace: Workspace, tmp_path: Path
) -> None:
    async with Late(Say(workspace.final)) as upstream:
        config = {
            "timeouts": {"keepalive_first": "500ms", "keepalive": "500ms", "keepalive_form": form},
            "providers": [provider("up", upstream.url, "responses", models=["gpt-5.5"])],
        }
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            run = await run_codex(proxy.url, "Hello.", repo=workspace.repo, home=workspace.home, setup=IMPATIENT)
    assert (run.exit_code, len(upstream.posts)) == (exit_code, 1), str(run)
    assert (run.final_text == workspace.final) is (exit_code == 0)
