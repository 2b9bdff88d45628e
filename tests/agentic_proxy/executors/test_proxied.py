"""Through an outbound proxy: how it is spoken to, and what its own faults look like."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import pytest

from agentic_proxy.executors.proxied import ProxiedTransport
from support.raw_upstream import CLOSE, LIMIT, STALL, RawUpstream, Script, answer
from translators.failure import Failure


async def posted(
    url: str, *scripts: Script, user: str = "", connect: float = LIMIT
) -> tuple[RawUpstream, object]:
    transport = ProxiedTransport(connect)
    async with RawUpstream(*scripts) as proxy:
        address = proxy.url.replace("http://", f"http://{user}")
        try:
            response = await transport.post(url, {"Authorization": "Bearer upstream-key"}, b"{}", proxy=address)
            result: object = (response.status, await response.read(100))
            response.close()
        except Failure as failure:
            result = failure
        finally:
            await transport.close()
    return proxy, result


async def test_credentials_in_the_proxys_address_go_to_the_proxy_only() -> None:
    proxy, result = await posted("http://upstream.example/v1", (answer(200, b"x"),), user="me:pw@")
    assert result == (200, b"x")
    (request,) = proxy.requests
    assert request.header("proxy-authorization") == ["Basic " + b64encode(b"me:pw").decode()]
    assert request.header("authorization") == ["Bearer upstream-key"]


async def test_an_https_upstream_is_reached_through_a_tunnel_that_sees_no_key() -> None:
    proxy, result = await posted("https://upstream.example/v1", (answer(403, b"SECRET page"),), user="me:pw@")
    (request,) = proxy.requests
    assert request.line == "CONNECT upstream.example:443 HTTP/1.1"
    assert (request.header("authorization"), request.body) == ([], b"")
    assert isinstance(result, Failure)
    assert (result.code, result.retry_same) == ("upstream_unreachable", False)
    assert result.message == "could not be reached: the outbound proxy answered HTTP 403."


@pytest.mark.parametrize(
    ("script", "retry"), [((CLOSE,), True), ((STALL,), False)], ids=["closes_the_tunnel", "never_answers"]
)
async def test_a_proxy_that_does_not_answer_makes_the_upstream_unreachable(script: Script, retry: bool) -> None:
    connect = LIMIT if retry else 0.2
    _, result = await asyncio.wait_for(posted("https://upstream.example/v1", script, connect=connect), 2 * LIMIT)
    assert isinstance(result, Failure)
    assert (result.code, result.retry_same) == ("upstream_unreachable", retry)
