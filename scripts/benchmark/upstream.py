"""A scripted model server, much cheaper than any proxy before it: it writes bytes that were made beforehand."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import cast

import httptools

from .processes import serve_until_terminated
from .script import json_answer, short_answer, stream_writes
from .workloads import Scenario, Wire, scenario_in

STREAM = re.compile(rb'"stream"\s*:\s*true')
WIRES: dict[bytes, Wire] = {b"responses": "responses", b"completions": "chat", b"messages": "messages"}
HIGH_WATER = 256 * 1024

MODELS = json_answer({"object": "list", "data": [{"id": "bench-text-1", "object": "model", "owned_by": "bench"}]})


@lru_cache(maxsize=64)
def answer(scenario: Scenario, wire: Wire, *, stream: bool) -> list[bytes]:
    """The writes of an answer."""
    return stream_writes(scenario, wire) if stream else [short_answer(scenario, wire)]


class Upstream(asyncio.Protocol):
    """One connection: an answer at a time, no pipelining."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.path = b""
        self.body: list[bytes] = []
        self.writes: list[bytes] = []
        self.next = 0
        self.pause = 0.0
        self.may_write = True
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one by shape only
        self.transport.set_write_buffer_limits(high=HIGH_WATER)

    def connection_lost(self, exc: Exception | None) -> None:
        self.writes = []
        if self.timer is not None:
            self.timer.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.close()

    def on_message_begin(self) -> None:
        self.path = b""
        self.body = []

    def on_url(self, url: bytes) -> None:
        self.path += url

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        if self.parser.get_method() == b"GET":
            self.transport.write(MODELS)
            return
        body = b"".join(self.body)
        scenario = scenario_in(body)
        wire = WIRES.get(self.path.rpartition(b"/")[2], "responses")
        self.writes = answer(scenario, wire, stream=STREAM.search(body) is not None)
        self.next = 0
        self.pause = scenario.every_ms / 1000
        if self.pause and len(self.writes) > 1:
            self.write_one()
        else:
            self.write_all()

    def write_one(self) -> None:
        self.transport.write(self.writes[self.next])
        self.next += 1
        if self.next < len(self.writes):
            self.timer = asyncio.get_running_loop().call_later(self.pause, self.write_one)

    def write_all(self) -> None:
        while self.may_write and self.next < len(self.writes):
            self.transport.write(self.writes[self.next])
            self.next += 1

    def pause_writing(self) -> None:
        self.may_write = False

    def resume_writing(self) -> None:
        self.may_write = True
        if not self.pause:
            self.write_all()


async def serve() -> None:
    """Listen on a free loopback port and say which."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    await serve_until_terminated(server.sockets[0].getsockname()[1])
    server.close()


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve())
