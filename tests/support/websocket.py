"""The whole server with the real engine in the test's own loop, and WebSocket clients in front of it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from agentic_proxy.config.model import Provider
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.connection import KEEPALIVE, LINGER, HttpServer
from agentic_proxy.server.serving import Serving
from agentic_proxy.server.websocket.sink import WRITE_STALL
from agentic_proxy.store.base import FinishedTurn
from support.engines import PATIENT, SMALL, provider, running_engine
from support.raw_upstream import LAST, LIMIT, OK, RawUpstream, Script, Seen, chunk
from support.turns import Item, Json, Say
from support.wires import chat_frames, responses_frames

DEADLINE = LIMIT
TERMINALS = ("response.completed", "response.incomplete", "response.failed", "error")
PATH = "/v1/responses"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
HANDSHAKE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}")


def user(text: str, **fields: Any) -> Json:
    """A user message."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}], **fields}


def played(*items: Item, wire: str = "responses") -> Script:
    """What a raw upstream says to play these items."""
    frames = responses_frames if wire == "responses" else chat_frames
    return (OK, chunk(b"".join(frames({"model": "m"}, items, None))), LAST)  # type: ignore[arg-type]


def gated(text: str) -> Script:
    """A message of which the first half comes at once, and the rest when the upstream's gate opens."""
    frames = list(responses_frames({"model": "m"}, (Say(text),), None))
    return (OK, chunk(b"".join(frames[:5])), Seen(b""), chunk(b"".join(frames[5:])), LAST)


def gate(upstream: RawUpstream) -> asyncio.Event:
    """The gate of ``gated`` scripts: set it and they go on."""
    event = asyncio.Event()

    async def opened(_: bytes) -> None:
        await event.wait()

    upstream.seen = opened
    return event


class Client:
    """One WebSocket. Every wait has a deadline."""

    def __init__(self, socket_: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket_

    async def send(self, message: Any) -> None:
        """Send a text message: a string as it is, anything else as JSON."""
        await self.socket.send_str(message if isinstance(message, str) else json.dumps(message))

    async def create(self, **fields: Any) -> None:
        """Send a ``response.create``."""
        await self.send({"type": "response.create", "model": "m", **fields})

    async def receive(self) -> aiohttp.WSMessage:
        """The next message, whatever it is."""
        return await self.socket.receive(timeout=DEADLINE)

    async def event(self) -> Json:
        """The next message, which must be a text frame with an event."""
        message = await self.receive()
        assert message.type is aiohttp.WSMsgType.TEXT, message
        event = json.loads(message.data)
        assert isinstance(event, dict)
        # Codex 0.171.0 ignores an error frame without a status and hangs.
        assert event["type"] != "error" or isinstance(event["status"], int)
        return event

    async def closed(self) -> int | None:
        """Wait for the server's close, which must be the next thing; its code."""
        message = await self.receive()
        assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED), message
        return self.socket.close_code

    async def until(self, *kinds: str, **fields: Any) -> list[Json]:
        """The next events, up to the first one of these kinds and with these fields."""
        events = [await self.event()]
        while events[-1]["type"] not in kinds or any(events[-1].get(key) != value for key, value in fields.items()):
            events.append(await self.event())
        return events

    async def turn(self, **fields: Any) -> list[Json]:
        """Send a ``response.create`` and read its response to the end."""
        await self.create(**fields)
        return await self.until(*TERMINALS)

    async def error(self, message: Any) -> Json:
        """Send a message and read the error frame that must be its only answer."""
        await self.send(message)
        return await self.event()


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    engine: Engine
    app: Serving
    server: HttpServer
    port: int
    session: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Client]:
        """An open WebSocket, closed on leaving."""
        async with self.session.ws_connect(self.url + PATH, max_msg_size=0, **options) as ws:
            yield Client(ws)

    async def drain(self, seconds: float = 10 * DEADLINE) -> None:
        """What a SIGTERM does to the connections."""
        self.app.sockets.drain()
        await self.server.drain(seconds)


@asynccontextmanager
async def serving(
    *providers: Provider, stall: float = WRITE_STALL, keepalive: float = KEEPALIVE, **settings: Any
) -> AsyncIterator[Served]:
    """The server over these providers; on leaving nothing may be left of it. ``settings`` are those of
    ``running_engine``."""
    async with running_engine(*providers, **{"timeouts": PATIENT, "limits": SMALL, **settings}) as engine:
        app = Serving(engine.config, engine, stall=stall)
        server = HttpServer(app, keepalive=keepalive, linger=LINGER)
        listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        try:
            async with aiohttp.ClientSession() as session:
                yield Served(engine, app, server, listener.sockets[0].getsockname()[1], session)
        finally:
            listener.close()
            await server.drain(0.0)
            await app.close()


@asynccontextmanager
async def served(
    *scripts: Script, wire: str = "responses", **settings: Any
) -> AsyncIterator[tuple[Served, RawUpstream]]:
    """The server with one provider, a raw upstream that plays ``scripts``."""
    async with RawUpstream(*scripts) as upstream, serving(provider("up", upstream.url, wire), **settings) as server:
        yield server, upstream


@asynccontextmanager
async def connected(*scripts: Script, **settings: Any) -> AsyncIterator[tuple[Client, Served, RawUpstream]]:
    """``served``, and one open WebSocket."""
    async with served(*scripts, **settings) as (server, upstream), server.client() as client:
        yield client, server, upstream


class HeldStore:
    """A store whose commits wait: ``committing`` is set when one has arrived, and it goes on with ``release``."""

    def __init__(self, engine: Engine) -> None:
        self.inner = engine.store
        self.committing = asyncio.Event()
        self.release = asyncio.Event()
        engine.store = self  # type: ignore[assignment]

    async def commit(self, turn: FinishedTurn) -> bool:
        self.committing.set()
        await self.release.wait()
        return await self.inner.commit(turn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class BrokenStore:
    """A store that accepts everything but commits, which raise ``error``."""

    def __init__(self, engine: Engine, error: Callable[[], BaseException]) -> None:
        self._inner = engine.store
        self._error = error
        engine.store = self  # type: ignore[assignment]

    async def commit(self, turn: FinishedTurn) -> bool:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def sent(upstream: RawUpstream, index: int = -1) -> Json:
    """The body of a request that the upstream got."""
    body = json.loads(upstream.requests[index].body)
    assert isinstance(body, dict)
    return body


def kinds(events: list[Json]) -> list[str]:
    return [event["type"] for event in events]


def texts(items: list[Json]) -> list[str]:
    """Role and text of messages, type of everything else."""
    return [
        f"{item['role']}: {item['content'] if isinstance(item['content'], str) else item['content'][0]['text']}"
        if item.get("type", "message") == "message"
        else str(item["type"])
        for item in items
    ]


def final_text(events: list[Json]) -> str:
    """The text of a completed response."""
    assert events[-1]["type"] == "response.completed", events[-1]
    messages = [item for item in events[-1]["response"]["output"] if item["type"] == "message"]
    return "".join(part["text"] for message in messages for part in message["content"])


async def raw_socket(
    server: Served, *headers: str, receive_buffer: int | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A plain connection after the handshake. ``receive_buffer`` bounds what the kernel takes while nobody reads."""
    sock = socket.socket()
    sock.setblocking(False)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=1 << 12)
    lines = [f"GET {PATH} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *HANDSHAKE, *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    head = await within(DEADLINE, reader.readuntil(b"\r\n\r\n"))
    assert head.startswith(b"HTTP/1.1 101 "), head
    return reader, writer


def masked(payload: bytes, first: int = 0x81) -> bytes:
    """A client's frame with a mask of zeros, which leaves the payload as it is."""
    size = len(payload)
    if size < 126:
        length = bytes((0x80 | size,))
    elif size < 1 << 16:
        length = b"\xfe" + size.to_bytes(2)
    else:
        length = b"\xff" + size.to_bytes(8)
    return bytes((first,)) + length + bytes(4) + payload


async def within(seconds: float, awaitable: Awaitable[Any]) -> Any:
    """The result, or TimeoutError."""
    async with asyncio.timeout(seconds):
        return await awaitable
