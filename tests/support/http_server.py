"""The HTTP server in the test's own loop, with a scripted engine behind it and raw sockets in front of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agentic_proxy.config.model import Config
from agentic_proxy.engine.holds import Holds
from agentic_proxy.engine.model_lists import ModelLists
from agentic_proxy.engine.outages import Outages
from agentic_proxy.routing.models import ModelTable
from agentic_proxy.server.connection import KEEPALIVE, HttpServer
from agentic_proxy.server.serving import build
from agentic_proxy.usage.sink import UsageSink
from support.raw_upstream import LIMIT

DEADLINE = LIMIT


async def answer_ok(request: Any, sink: Any) -> dict[str, Any]:
    """The default turn: one created and one completed event, or the finished object."""
    response = {"id": "resp_1", "object": "response", "model": request.body.get("model")}
    if sink is not None:
        await sink.start()
        await sink.write(b'event: a\ndata: {"n":1}\n\n')
        await sink.write(b'event: b\ndata: {"n":2}\n\n')
    return response


class FakeCounting:
    """Counts seven for everything, and keeps the betas that it was asked with."""

    def __init__(self) -> None:
        self.betas: list[tuple[str, ...]] = []

    async def count(self, body: Any, betas: tuple[str, ...]) -> int:
        self.betas.append(betas)
        return 7


class FakeEngine:
    """Runs ``turn`` for every request and keeps what it was asked. ``executors`` as the real engine has them."""

    def __init__(
        self,
        config: Config,
        turn: Callable[[Any, Any], Awaitable[dict[str, Any]]] = answer_ok,
        executors: dict[str, Any] | None = None,
    ) -> None:
        self.turn = turn
        self.executors = executors or {}
        self.models = ModelLists(ModelTable(config.providers, config.models), self.executors)
        self.outages = Outages(None, time.time)
        self.usage = UsageSink()
        self.holds = Holds()
        self.counting = FakeCounting()
        self.requests: list[Any] = []
        self.closed = False

    async def run(self, request: Any, sink: Any) -> dict[str, Any]:
        self.requests.append(request)
        return await self.turn(request, sink)

    async def drain(self, seconds: float) -> None: ...

    async def close(self) -> None:
        self.closed = True


@dataclass
class Answer:
    """A parsed HTTP answer; header names in lower case, the last of equal ones wins."""

    status: int
    headers: dict[str, str]
    body: bytes
    closed: bool = False
    raw: bytes = field(default=b"", repr=False)


@dataclass
class Running:
    """A started server."""

    server: HttpServer
    engine: FakeEngine
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def raw(self, data: bytes) -> Answer:
        """Send bytes on a fresh socket, read one answer, and see whether the server then closes the connection."""
        async with asyncio.timeout(DEADLINE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(data)
                answer = await read_answer(reader, head_only=data.startswith(b"HEAD "))
                if answer.headers.get("connection") == "close":
                    answer.closed = await ended(reader)
                return answer
            finally:
                writer.close()
                await writer.wait_closed()

    async def get(self, path: str, *headers: str, method: str = "GET", body: bytes = b"") -> Answer:
        """One request with a proper Host header and the given header lines."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        return await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def post(self, body: bytes, *headers: str, path: str = "/v1/responses") -> Answer:
        """A JSON POST."""
        return await self.get(path, "Content-Type: application/json", *headers, method="POST", body=body)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait until the server closes the connection; False if something comes first. A reset is a close with bytes of
    ours still unread."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


async def read_answer(reader: asyncio.StreamReader, head_only: bool = False) -> Answer:
    """One HTTP answer from the stream, with its body by Content-Length or in chunks."""
    head = await reader.readuntil(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = b""
    if head_only or status_line.split()[1] == "304":
        pass
    elif headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(status_line.split()[1]), headers, body, raw=head + body)


@asynccontextmanager
async def running(
    config: Config | None = None,
    turn: Callable[[Any, Any], Awaitable[dict[str, Any]]] = answer_ok,
    *,
    executors: dict[str, Any] | None = None,
    keepalive: float = KEEPALIVE,
) -> AsyncIterator[Running]:
    """The server on a free loopback port until the block ends."""
    config = config or Config()
    engine = FakeEngine(config, turn, executors)
    server = build(config, engine, keepalive=keepalive, linger=0.1)  # type: ignore[arg-type]
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield Running(server, engine, listener.sockets[0].getsockname()[1])
    finally:
        listener.close()
        await server.drain(0.0)
        await engine.models.close()
