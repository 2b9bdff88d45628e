"""The stream writer, over a real socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_proxy.server import sse
from support.http_server import DEADLINE, running

BODY = b'{"model":"m","input":"hi","stream":true}'
HEAD = (
    b"POST /v1/responses HTTP/1.%d\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


async def test_a_stream_has_the_headers_of_one_and_the_bytes_as_written() -> None:
    async with running() as server:
        answer = await server.post(BODY)
        assert answer.status == 200
        assert answer.body == b'event: a\ndata: {"n":1}\n\nevent: b\ndata: {"n":2}\n\n'
        answer.headers.pop("date")
        assert answer.headers.pop("x-request-id").startswith("req_")
        assert answer.headers == {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "x-accel-buffering": "no",
            "server": "agentic-proxy",
            "transfer-encoding": "chunked",
        }


async def test_each_write_arrives_before_the_next_one() -> None:
    turns = asyncio.Event()

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        await sink.start()
        await sink.write(b"data: 1\n\n")
        await turns.wait()
        await sink.write(b"data: 2\n\n")
        return {}

    async with running(turn=turn) as server, asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(HEAD % (1, len(BODY)) + BODY)
        await reader.readuntil(b"data: 1\n\n")
        turns.set()
        assert await reader.readuntil(b"0\r\n\r\n") == b"\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"
        writer.close()


async def test_an_old_client_gets_the_stream_without_chunks_until_the_end_of_the_connection() -> None:
    async with running() as server, asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(HEAD % (0, len(BODY)) + BODY)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.0 200 ")
        assert body == b'event: a\ndata: {"n":1}\n\nevent: b\ndata: {"n":2}\n\n'
        writer.close()


async def test_a_client_that_does_not_read_holds_the_writer_back_and_is_dropped_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse.SseSink.__init__, "__defaults__", (0.1,))
    written = 0
    ended: asyncio.Future[type[BaseException]] = asyncio.get_running_loop().create_future()

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        nonlocal written
        await sink.start()
        try:
            while True:
                await sink.write(b"x" * 65536)
                written += 65536
        except BaseException as exc:
            ended.set_result(type(exc))
            raise

    async with running(turn=turn) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
        writer.write(HEAD % (1, len(BODY)) + BODY)
        assert issubclass(await asyncio.wait_for(ended, DEADLINE), ConnectionError)
        assert written < 16 << 20
        writer.close()
        del reader
