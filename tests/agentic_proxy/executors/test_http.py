"""One transport, with and without an outbound proxy: the same behaviour towards an upstream either way."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from agentic_proxy.executors import connection, proxied
from agentic_proxy.executors.base import UpstreamResponse
from agentic_proxy.executors.http import HttpTransport
from support.engines import eventually
from support.raw_upstream import CLOSE, LAST, LIMIT, OK, RESET, STALL, RawUpstream, Script, Seen, answer, chunk
from translators.failure import Failure

Way = Literal["direct", "proxied"]
GATE = Seen(b"")
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer key-of-a-test", "User-Agent": "agentic/1"}


class Exchange:
    """A transport and the raw upstream behind it; ``gate`` lets the upstream's GATE steps pass."""

    def __init__(self, way: Way, upstream: RawUpstream) -> None:
        self.transport = HttpTransport(LIMIT)
        self.upstream = upstream
        self.gate = asyncio.Event()
        self._way = way
        upstream.seen = self._wait

    async def _wait(self, marker: bytes) -> None:
        await self.gate.wait()
        self.gate.clear()

    @property
    def proxy(self) -> str | None:
        return self.upstream.url if self._way == "proxied" else None

    async def post(self, headers: dict[str, str] = HEADERS) -> UpstreamResponse:
        host = self.upstream.url if self._way == "direct" else "http://upstream.example"
        return await self.transport.post(f"{host}/v1/responses", headers, b'{"a":1}', proxy=self.proxy)

    async def get(self, timeout: float) -> UpstreamResponse:
        host = self.upstream.url if self._way == "direct" else "http://upstream.example"
        return await self.transport.get(f"{host}/v1/models", HEADERS, proxy=self.proxy, timeout=timeout)

    def idle(self) -> int:
        through = self.transport._proxied
        if through is not None and through._session is not None:
            pooled = through._session.connector._conns.values()  # type: ignore[union-attr]
            return sum(connection[0].is_connected() for pool in pooled for connection in pool)
        return self.transport._direct.idle


@pytest.fixture(params=["direct", "proxied"])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a body is waited for longer than any test waits."""
    for module in (connection, proxied):
        monkeypatch.setattr(module, "DRAIN_SECONDS", 10 * LIMIT)


@asynccontextmanager
async def exchange(way: Way, *scripts: Script) -> AsyncIterator[Exchange]:
    before = asyncio.all_tasks()
    async with RawUpstream(*scripts) as upstream:
        made = Exchange(way, upstream)
        try:
            yield made
        finally:
            await made.transport.close()
        await eventually(lambda: not upstream.open)
    await eventually(lambda: asyncio.all_tasks() <= before)


async def body_of(response: UpstreamResponse) -> bytes:
    return b"".join([part async for part in parts(response)])


async def parts(response: UpstreamResponse) -> AsyncIterator[bytes]:
    while part := await response.read_some():
        yield part


BODIES: dict[str, Script] = {
    "length": (answer(200, b"hello world"),),
    "chunked": (OK, chunk(b"hello "), chunk(b"world"), LAST),
    "until_close": (b"HTTP/1.1 200 OK\r\n\r\nhello world", CLOSE),
    "http_1_0": (b"HTTP/1.0 200 OK\r\n\r\nhello world", CLOSE),
    "after_a_100": (b"HTTP/1.1 100 Continue\r\n\r\n", answer(200, b"hello world")),
    "gzip": (answer(200, gzip.compress(b"hello world"), "content-encoding: gzip"),),
    "chunk_extensions_and_trailers": (OK, b"5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n"),
}


@pytest.mark.parametrize("form", BODIES)
async def test_a_body_arrives_whole_in_every_form(form: str, way: Way) -> None:
    async with exchange(way, BODIES[form]) as made:
        response = await made.post()
        assert response.status == 200
        assert await body_of(response) == b"hello world"
        assert await response.read_some() == b""
        response.close()
        response.close()


async def test_what_one_read_brings_is_handed_on_before_the_body_ends(way: Way) -> None:
    async with exchange(way, (OK, chunk(b"first"), GATE, chunk(b"second"), LAST)) as made:
        response = await made.post()
        assert await response.read_some() == b"first"
        made.gate.set()
        assert await response.read_some() == b"second"
        assert await response.read_some() == b""
        response.finish()


async def test_two_exchanges_use_one_connection(way: Way) -> None:
    async with exchange(way, (OK, chunk(b"x"), LAST)) as made:
        for end in ("finish", "close", "finish"):
            response = await made.post()
            assert await body_of(response) == b"x"
            getattr(response, end)()
        assert [request.connection for request in made.upstream.requests] == [0, 0, 0]


async def test_a_connection_is_used_again_when_the_bodys_end_arrives_after_the_message(way: Way, patient: None) -> None:
    late: Script = (OK, chunk(b"terminal"), GATE, chunk(b"data: [DONE]\n\n"), GATE, LAST)
    async with exchange(way, late, (OK, LAST)) as made:
        response = await made.post()
        assert await response.read_some() == b"terminal"
        response.finish()
        made.gate.set()
        await eventually(lambda: not made.gate.is_set())
        made.gate.set()
        await eventually(lambda: made.idle() == 1)
        assert (await made.post()).status == 200
        assert [request.connection for request in made.upstream.requests] == [0, 0]


async def test_a_finished_message_whose_body_never_ends_costs_its_connection(way: Way) -> None:
    async with exchange(way, (OK, chunk(b"terminal"), STALL)) as made:
        response = await made.post()
        await response.read_some()
        response.finish()
        await made.upstream.until(lambda each: not each.open)


async def test_close_inside_a_body_closes_the_connection_at_once(way: Way, patient: None) -> None:
    async with exchange(way, (OK, chunk(b"x"), STALL)) as made:
        response = await made.post()
        await response.read_some()
        response.close()
        await made.upstream.until(lambda each: not each.open)


async def test_a_cancelled_exchange_closes_its_connection(way: Way) -> None:
    async with exchange(way, (STALL,)) as made:
        task = asyncio.create_task(made.post())
        await made.upstream.until(lambda each: len(each.requests) == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await made.upstream.until(lambda each: not each.open)


async def test_a_request_holds_the_given_headers_in_order_and_nothing_of_the_machines_own(way: Way) -> None:
    async with exchange(way, (answer(200, b"x", "set-cookie: a=b"),)) as made:
        for _ in range(2):
            (await made.post()).close()
        first, second = made.upstream.requests
    target = "" if way == "direct" else "http://upstream.example"
    assert first.line == f"POST {target}/v1/responses HTTP/1.1"
    names = [name for name, _ in first.headers]
    assert names == ["Host", *HEADERS, "Accept-Encoding", "Content-Length"] or sorted(names) == sorted(
        ["Host", *HEADERS, "Accept", "Accept-Encoding", "Content-Length"]
    )
    assert [first.header(name.lower()) for name in HEADERS] == [[value] for value in HEADERS.values()]
    assert (first.header("accept-encoding"), first.header("content-length")) == (["identity"], ["7"])
    assert (first.body, second.header("cookie")) == (b'{"a":1}', [])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_an_answer_and_never_followed(status: int, way: Way) -> None:
    async with exchange(way, (answer(status, b"", "location: /elsewhere"),)) as made:
        response = await made.post()
        assert (response.status, response.headers["location"]) == (status, "/elsewhere")
        response.close()
        assert len(made.upstream.requests) == 1


@pytest.mark.parametrize(
    ("script", "code", "again"),
    [
        ((CLOSE,), "upstream_unreachable", True),
        ((RESET,), "upstream_unreachable", True),
        ((b"HTTP/1.1 200 OK\r\ncontent-t", CLOSE), "upstream_unreachable", True),
        ((b"SSH-2.0-OpenSSH\r\n\r\n", STALL), "upstream_unreachable", False),
    ],
    ids=["closed", "reset", "half_a_head", "not_http"],
)
async def test_a_connection_that_breaks_before_the_head_may_be_tried_again(
    script: Script, code: str, again: bool, way: Way
) -> None:
    async with exchange(way, script) as made:
        with pytest.raises(Failure) as caught:
            await made.post()
        assert (caught.value.code, caught.value.retry_same) == (code, again)
        assert "127.0.0.1" not in caught.value.message


@pytest.mark.parametrize(
    "script",
    [
        (OK, chunk(b"x"), RESET),
        (OK, chunk(b"x"), CLOSE),
        (OK, b"5\r\nab", CLOSE),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nx", CLOSE),
    ],
    ids=["reset", "no_last_chunk", "half_a_chunk", "short_length"],
)
async def test_a_connection_that_breaks_inside_the_body_is_upstream_closed(script: Script, way: Way) -> None:
    async with exchange(way, script) as made:
        with pytest.raises(Failure) as caught:
            response = await made.post()
            try:
                await body_of(response)
            finally:
                response.close()
        assert (caught.value.code, caught.value.retry_same) == ("upstream_closed", False)


async def test_an_idle_connection_that_the_upstream_closed_is_not_used_again(way: Way) -> None:
    async with exchange(way, (answer(200, b"x"), GATE, CLOSE), (answer(200, b"y"),)) as made:
        response = await made.post()
        assert await body_of(response) == b"x"
        response.finish()
        made.gate.set()
        await eventually(lambda: made.idle() == 0)
        assert await body_of(await made.post()) == b"y"


async def test_a_list_request_has_a_limit_for_its_head(way: Way) -> None:
    async with exchange(way, (STALL,)) as made:
        with pytest.raises(Failure) as caught:
            await made.get(1.0)
        assert caught.value.code in ("upstream_timeout", "upstream_unreachable")
        assert made.upstream.requests[0].line.startswith("GET ")
        assert made.upstream.requests[0].header("content-length") == []


async def test_a_read_with_a_limit_stops_there(way: Way) -> None:
    async with exchange(way, (OK, chunk(b"abcdef"), chunk(b"ghi"), LAST)) as made:
        response = await made.post()
        assert await response.read(4) == b"abcd"
        response.close()


async def test_small_packets_leave_at_once(way: Way) -> None:
    async with exchange(way, (OK, chunk(b"x"), STALL)) as made:
        response: Any = await made.post()
        connection = response._connection if way == "direct" else response._response.connection
        sock = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        response.close()


async def test_a_refused_connection_says_so_without_an_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    transport = HttpTransport(LIMIT)
    with pytest.raises(Failure) as plain:
        await transport.post(f"http://127.0.0.1:{port}/v1", {}, b"")
    with pytest.raises(Failure) as through:
        await transport.post("http://upstream.example/v1", {}, b"", proxy=f"http://127.0.0.1:{port}")
    await transport.close()
    assert [(each.value.message, each.value.retry_same) for each in (plain, through)] == [
        ("could not be reached: connection refused.", True),
        ("could not be reached: the outbound proxy refused the connection.", True),
    ]
