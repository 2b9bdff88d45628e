"""The real Claude Code waits for a silent upstream: every kind of filler reaches it in every state of a stream, and it
neither repeats its request nor shows them.

Its own limit is 300 seconds and cannot be lowered (2.1.197), so what is shown here is that it bears what keeps it
waiting; that these fillers are the ones it counts was measured.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from support.agents import run_claude
from support.chat_stream import DONE, call, calls, chunk
from support.proxy import provider, running_proxy
from support.tap import Tap
from support.workspace import Workspace

PING = b"event: ping"
OFTEN = {"keepalive_first": "100ms", "keepalive": "100ms"}


class Slow:
    """A Chat upstream that says the next thing only when the client has been sent three more pings."""

    def __init__(self, *turns: list[bytes]) -> None:
        self.posts = 0
        self.tap: Tap | None = None
        self._turns = turns

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert self.tap is not None
        turn = self._turns[min(self.posts, len(self._turns) - 1)]
        self.posts += 1
        await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for frames in turn:
            await self.tap.more(PING, 3)
            await response.write(frames)
        return response


@asynccontextmanager
async def serving(slow: Slow) -> AsyncIterator[str]:
    app = web.Application(client_max_size=16 << 20)
    app.router.add_post("/v1/chat/completions", slow.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_claude_code_waits_through_silence_everywhere_and_asks_once(tmp_path: Path) -> None:
    workspace = Workspace.make(tmp_path)
    arguments = f'{{"command":"sed -i s/{workspace.old}/{workspace.new}/ hello.txt","description":"Edit"}}'
    turn = [
        chunk(reasoning_content="Think"),
        chunk(reasoning_content=" first."),
        chunk(content="I "),
        chunk(content="will."),
        calls(call(index=0, id="call_1", name="Bash", arguments=arguments[:30])),
        calls(call(index=0, arguments=arguments[30:])),
        chunk("tool_calls") + DONE,
    ]
    slow = Slow(turn, [chunk(content=workspace.final), chunk("stop") + DONE])
    async with serving(slow) as url:
        config = {"providers": [provider("up", url, "chat", models=["m"])], "timeouts": OFTEN}
        async with running_proxy(config, tmp_path / "proxy") as proxy, Tap(proxy.url) as tap:
            slow.tap = tap
            ran = await run_claude(tap.url, "m", workspace)
    assert (ran.code, workspace.changed, workspace.final in ran.out) == (0, True, True), ran
    assert [line for line in tap.requests if line.startswith("POST")] == ["POST /v1/messages"] * slow.posts
    assert slow.posts == 2
    fillers = set(re.findall(rb'"delta":(\{[^}]*\})', bytes(tap.answers)))
    assert {
        b'{"stop_reason":null,"stop_sequence":null}',
        b'{"type":"thinking_delta","thinking":""}',
        b'{"type":"text_delta","text":""}',
        b'{"type":"input_json_delta","partial_json":""}',
    } <= fillers
