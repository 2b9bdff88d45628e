"""An upstream that repeats the credential it was sent wherever it can: in messages, codes, headers, pages and broken
bytes. It is also an MCP server and a search provider of the same kind.

What it does is the model that a request asks for, a row of ``BEHAVIOURS``; each of its answers has headers that must
not come down.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from support.canaries import quoted
from support.mcp_server import ADD
from support.mcp_server import answer as mcp_answer
from support.messages_stream import messages_frames
from support.raw_upstream import CLOSE, LAST, RESET, STALL, End, Received, chunk, read_request
from support.turns import Call, Json, Say
from support.wires import chat_frames, responses_frames

FRAMES = {"responses": responses_frames, "chat/completions": chat_frames, "messages": messages_frames}
CREDENTIALS = ("authorization", "x-api-key", "x-tenant", "x-subscription-token", "x-mcp-token")
MISLEADING = ("openai-model: gpt-of-the-upstream", "set-cookie: session={0}; Path=/", "server: upstream/{0}",
              "x-request-id: req-{0}", "openai-organization: org-{0}", "via: 1.1 {0}", "x-should-retry: false",
              "www-authenticate: Bearer realm={0}", "anthropic-organization-id: {0}")  # fmt: skip
"""Headers of every answer; ``{0}`` is the credential."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One model request: its path's end, its body, and the credential that came with it."""

    wire: str
    body: Json
    key: str


Step: TypeAlias = bytes | End
Behaviour: TypeAlias = Callable[[Heard], list[Step]]


def _head(status: int, length: int | None, key: str, kind: str = "application/json") -> bytes:
    size = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {kind}", size]
    return "\r\n".join([*lines, *(line.format(key) for line in MISLEADING), "", ""]).encode("latin-1")


def _whole(status: int, body: bytes, key: str, kind: str = "application/json") -> list[Step]:
    return [_head(status, len(body), key, kind) + body]


def _error(key: str, **more: object) -> Json:
    text = f"The key is wrong: {quoted(key)}"
    return {"error": {"message": text, "type": key[:64], "code": key[:64], "param": key, **more}}


def refused(status: int) -> Behaviour:
    """An error object that repeats the key in every member."""
    return lambda heard: _whole(status, json.dumps(_error(heard.key)).encode(), heard.key)


def padded(size: int) -> Behaviour:
    """The key again and again, so that wherever a message is cut, it is within one."""

    def play(heard: Heard) -> list[Step]:
        message = "x" * size + " ".join([heard.key] * 200)
        return _whole(400, json.dumps({"error": {"message": message, "code": "odd"}}).encode(), heard.key)

    return play


def page(status: int) -> Behaviour:
    def play(heard: Heard) -> list[Step]:
        body = f"<!DOCTYPE html><html><title>{heard.key}</title><body>{quoted(heard.key)}</body></html>".encode()
        return _whole(status, body, heard.key, "text/html")

    return play


def in_two_reads(heard: Heard) -> list[Step]:
    """The key is cut in half by two chunks of the body."""
    body = json.dumps(_error(heard.key)).encode()
    middle = body.index(json.dumps(heard.key)[1:-1].encode()) + len(heard.key) // 2
    return [_head(401, None, heard.key), chunk(body[:middle]), chunk(body[middle:]), LAST]


def broken_json(heard: Heard) -> list[Step]:
    return _whole(200, b'{"error": {"message": "' + quoted(heard.key).encode(), heard.key)


def redirect(heard: Heard) -> list[Step]:
    head = f"HTTP/1.1 307 Elsewhere\r\nlocation: /v2?key={heard.key}\r\ncontent-length: 0\r\n\r\n"
    return [head.encode("latin-1")]


def not_http(heard: Heard) -> list[Step]:
    return [f"HTTP/9.9 {heard.key}\r\n{quoted(heard.key)}\r\n\r\n".encode("latin-1"), CLOSE]


def frames_of(heard: Heard, *items: Say | Call) -> list[bytes]:
    request = {**heard.body, "stream_options": {"include_usage": True}}
    return list(FRAMES[heard.wire](request, items or (Say("A good answer."),), None))


def good(heard: Heard) -> list[Step]:
    return [_head(200, None, heard.key, "text/event-stream"), chunk(b"".join(frames_of(heard))), LAST]


def broken_off(*ends: bytes | End) -> Behaviour:
    """A good beginning, a comment with the key, and these steps (``{0}`` is the key as JSON has it)."""

    def play(heard: Heard) -> list[Step]:
        begin = b"".join(frames_of(heard)[:-3]) + b": " + heard.key.encode() + b"\n\n"
        text = json.dumps(quoted(heard.key))[1:-1].encode()
        steps = [chunk(end.replace(b"{0}", text)) if isinstance(end, bytes) else end for end in ends]
        return [_head(200, None, heard.key, "text/event-stream"), chunk(begin), *steps]

    return play


def failed_event(heard: Heard) -> list[Step]:
    error = _error(heard.key)["error"]
    event: Json = {"type": "error", "error": error}
    if heard.wire == "responses":
        reason = {"reason": heard.key}
        event = {"type": "response.failed", "response": {"id": "r", "error": error, "incomplete_details": reason}}
    begin = b"".join(frames_of(heard)[:-3])
    frame = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    return [_head(200, None, heard.key, "text/event-stream"), chunk(begin + frame), LAST]


def own_tool(heard: Heard) -> list[Step]:
    """Calls the tools that the proxy runs, once each, then says something."""
    names = [tool.get("name", "") for tool in heard.body.get("tools", ())]
    done = any(item.get("type") == "function_call_output" for item in heard.body["input"])
    calls = [Call(name, {"a": 1, "b": 2, "query": "birds"}) for name in names if name.startswith(("mcp__", "web_se"))]
    frames = frames_of(heard, *(() if done else calls))
    return [_head(200, None, heard.key, "text/event-stream"), chunk(b"".join(frames)), LAST]


def teaching(heard: Heard) -> list[Step]:
    """Refuses a field by its name, which the proxy learns; without it the answer is good."""
    if "temperature" not in heard.body:
        return good(heard)
    text = f"Unsupported parameter: 'temperature' is not supported with this model. {quoted(heard.key)}"
    error = {"message": text, "type": "invalid_request_error", "code": "unsupported_parameter", "param": "temperature"}
    return _whole(400, json.dumps({"error": error}).encode(), heard.key)


BEHAVIOURS: dict[str, Behaviour] = {
    "good": good,
    "teaching": teaching,
    **{f"http_{status}": refused(status) for status in (400, 401, 403, 404, 408, 413, 422, 429, 500, 503)},
    **{f"cut_message_{size}": padded(size) for size in (0, 7, 13)},
    "page_200": page(200),
    "page_500": page(500),
    "error_200": refused(200),
    "in_two_reads": in_two_reads,
    "broken_json": broken_json,
    "redirect": redirect,
    "not_http": not_http,
    "end_of_stream": broken_off(LAST),
    "reset": broken_off(RESET),
    "stall": broken_off(STALL),
    "bad_frame": broken_off(b'data: {"type": "{0}\n\n', LAST),
    "error_frame": broken_off(b'event: error\ndata: {"type":"error","code":"{0}","message":"{0}"}\n\n', LAST),
    "failed_event": failed_event,
}
SUCCEEDS = frozenset({"good", "teaching"})


@dataclass
class EchoingUpstream:
    """The server. ``requests`` are those of models; ``others`` those of MCP and of searches."""

    url: str
    requests: list[Received] = field(default_factory=list)
    others: list[Received] = field(default_factory=list)
    behaviours: set[str] = field(default_factory=set)
    """What has been played."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def _steps(self, received: Received) -> list[Step]:
        path = received.line.split(" ")[1]
        values = [value for name in CREDENTIALS for value in received.header(name)]
        key = values[-1].removeprefix("Bearer ") if values else ""
        if "/mcp" in path or "/search" in path:
            self.others.append(received)
            return _tool_server(path, received, key)
        self.requests.append(received)
        if not received.body:
            rows = [{"id": "good", "object": "model"}]
            return _whole(200, json.dumps({"object": "list", "data": rows}).encode(), key)
        body = json.loads(received.body)
        wire = path.partition("/v1/")[2].partition("?")[0]
        self.behaviours.add(body["model"])
        return {**BEHAVIOURS, "own_tool": own_tool}[body["model"]](Heard(wire, body, key))

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether another may follow."""
        for step in self._steps(await read_request(reader, 0)):
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
                continue
            if step is STALL:
                await reader.read()
            elif step is RESET:
                writer.transport.abort()
            return False
        return True


def _tool_server(path: str, received: Received, key: str) -> list[Step]:
    """``/mcp/401``, ``/mcp/page``, ``/mcp/rpc`` (an error of the protocol), ``/mcp/good`` (its tool fails, and its
    description repeats the key too)."""
    kind = path.partition("?")[0].rpartition("/")[2]
    if "/search" in path:
        return _whole(422, json.dumps(_error(key)).encode(), key)
    if kind in ("401", "page"):
        return page(401 if kind == "401" else 200)(Heard("", {}, key))
    if not received.body:
        return _whole(405, b"", key)
    message = json.loads(received.body)
    if "id" not in message:
        return _whole(202, b"", key)
    match message["method"]:
        case "tools/list" if kind == "rpc":
            said: Json = {"error": {"code": -32000, "message": quoted(key)}}
        case "tools/list":
            said = {"result": {"tools": [{**ADD, "description": quoted(key)}]}}
        case "tools/call":
            said = {"result": {"content": [{"type": "text", "text": quoted(key)}], "isError": kind == "good"}}
        case method:
            result = mcp_answer(method, message.get("params") or {})
            said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
    return _whole(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode(), key)


@asynccontextmanager
async def echoing_upstream() -> AsyncIterator[EchoingUpstream]:
    """The server on a free loopback port."""
    upstream = EchoingUpstream("")
    server = await asyncio.start_server(upstream.accept, "127.0.0.1", 0, limit=1 << 20)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        for task in upstream.tasks:
            task.cancel()
        await asyncio.gather(*upstream.tasks, return_exceptions=True)


