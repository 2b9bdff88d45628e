"""The own HTTP/1.1 client: what only it decides (limits, backpressure, strange servers, TLS)."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentic_proxy.executors import connection, direct
from agentic_proxy.executors.direct import DirectTransport
from support.certificates import server_context, trusting_context
from support.engines import eventually
from support.raw_upstream import CLOSE, LAST, LIMIT, OK, STALL, RawUpstream, Script, Seen, answer, chunk
from translators.failure import Failure


@asynccontextmanager
async def upstream_of(*scripts: Script, tls: bool = False) -> AsyncIterator[tuple[DirectTransport, RawUpstream, str]]:
    async with RawUpstream(*scripts, tls=server_context() if tls else None) as upstream:
        transport = DirectTransport(LIMIT)
        try:
            yield transport, upstream, f"{upstream.url}/v1/responses"
        finally:
            await transport.close()


async def fetched(transport: DirectTransport, url: str) -> bytes:
    response = await transport.post(url, {}, b"{}")
    try:
        body = b""
        while part := await response.read_some():
            body += part
        return body
    finally:
        response.close()


REFUSED: dict[str, tuple[Script, str]] = {
    "headers_too_large": ((b"HTTP/1.1 200 OK\r\n" + b"x-a: " + b"y" * (70 << 10) + b"\r\n\r\n",), "upstream_too_large"),
    "unknown_coding": ((answer(200, b"x", "content-encoding: br"),), "upstream_invalid_response"),
    "broken_gzip": ((answer(200, b"not gzip", "content-encoding: gzip"),), "upstream_closed"),
    "bad_chunk": ((OK, chunk(b"x"), b"zz\r\n", STALL), "upstream_closed"),
    "an_upgrade": ((b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", CLOSE),
                   "upstream_unreachable"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_proper_answer_is_a_failure_and_the_connection_goes(case: str) -> None:
    script, code = REFUSED[case]
    async with upstream_of(script) as (transport, upstream, url):
        with pytest.raises(Failure) as caught:
            await fetched(transport, url)
        assert caught.value.code == code
        await upstream.until(lambda each: not each.open)


async def test_a_body_that_unfolds_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "INFLATED_LIMIT", 1 << 20)
    bomb = gzip.compress(b"\0" * (4 << 20))
    async with upstream_of((answer(200, bomb, "content-encoding: gzip"),)) as (transport, _, url):
        with pytest.raises(Failure) as caught:
            await fetched(transport, url)
        assert caught.value.code == "upstream_too_large"


async def test_an_upstream_is_not_read_faster_than_the_turn_reads() -> None:
    block = b"x" * (1 << 20)
    async with upstream_of((OK, *[chunk(block)] * 16, LAST)) as (transport, _, url):
        response = await transport.post(url, {}, b"{}")
        its = response._connection  # type: ignore[attr-defined]
        await eventually(lambda: its._paused)
        for _ in range(100):
            await asyncio.sleep(0)
        assert its.waiting <= connection.HIGH_WATER + (512 << 10)
        size = 0
        while part := await response.read_some():
            size += len(part)
        assert size == 16 << 20
        response.close()


async def test_bytes_that_nobody_asked_for_cost_the_connection() -> None:
    surprise = Seen(b"")
    async with upstream_of((answer(200, b"x"), surprise, answer(200, b"evil")), (answer(200, b"y"),)) as given:
        transport, upstream, url = given
        gate = asyncio.Event()

        async def wait(marker: bytes) -> None:
            await gate.wait()

        upstream.seen = wait
        assert await fetched(transport, url) == b"x"
        gate.set()
        await eventually(lambda: transport.idle == 0)
        assert await fetched(transport, url) == b"y"
        assert upstream.connections == 2


async def test_an_answer_that_asks_for_it_closes_the_connection() -> None:
    async with upstream_of((answer(200, b"x", "connection: close"), STALL)) as (transport, upstream, url):
        assert await fetched(transport, url) == b"x"
        await upstream.until(lambda each: not each.open)
        assert transport.idle == 0


async def test_an_idle_connection_goes_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_SECONDS", 0.02)
    async with upstream_of((answer(200, b"x"),)) as (transport, upstream, url):
        await fetched(transport, url)
        assert transport.idle == 1
        await upstream.until(lambda each: not each.open)
        assert transport.idle == 0


async def test_concurrent_exchanges_have_connections_of_their_own() -> None:
    async with upstream_of((answer(200, b"x"),)) as (transport, upstream, url):
        assert await asyncio.gather(*(fetched(transport, url) for _ in range(5))) == [b"x"] * 5
        assert (upstream.connections, transport.idle) == (5, 5)


async def test_close_closes_idle_and_busy_connections() -> None:
    async with upstream_of((answer(200, b"x"),), (OK, STALL)) as (transport, upstream, url):
        await fetched(transport, url)
        await transport.post(url, {}, b"{}")
        other = asyncio.create_task(transport.post(url, {}, b"{}"))
        await upstream.until(lambda each: len(each.requests) == 3)
        await transport.close()
        await upstream.until(lambda each: not each.open)
        await asyncio.gather(other, return_exceptions=True)


async def test_tls_with_a_trusted_certificate_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "client_context", trusting_context)
    async with upstream_of((answer(200, b"x"),), tls=True) as (transport, upstream, url):
        for address in (url, url, url.replace("127.0.0.1", "localhost")):
            assert await fetched(transport, address) == b"x"
        assert [request.connection for request in upstream.requests] == [0, 0, 1]


async def test_an_unknown_certificate_is_refused_before_anything_is_sent() -> None:
    async with upstream_of((answer(200, b"x"),), tls=True) as (transport, upstream, url):
        with pytest.raises(Failure) as caught:
            await fetched(transport, url)
        failure = caught.value
        assert (failure.code, failure.retry_same) == ("upstream_unreachable", False)
        assert failure.message == "could not be reached: its TLS certificate or handshake was refused."
        assert upstream.requests == []


async def test_a_host_that_takes_too_long_to_connect_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*args: object, **options: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
    with pytest.raises(Failure) as caught:
        await DirectTransport(0.02).post("http://upstream.example/v1", {}, b"")
    failure = caught.value
    assert (failure.message, failure.retry_same) == ("could not be reached within 0.02 seconds.", False)
