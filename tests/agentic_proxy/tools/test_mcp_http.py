"""Connections of an MCP session: to the address that was checked, under the name that was asked for."""

from __future__ import annotations

import ssl

import httpx2
import pytest

from agentic_proxy.tools import mcp_http
from agentic_proxy.tools.mcp_http import http_client
from agentic_proxy.tools.net_policy import NetPolicy
from support.raw_upstream import RawUpstream, answer

TLS = ssl.create_default_context()


def policy(*allowed: str) -> NetPolicy:
    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    return NetPolicy(allowed, here, anywhere=True)


async def test_a_connection_goes_to_the_checked_address_with_the_host_of_the_url() -> None:
    async with RawUpstream((answer(200, b"{}"),)) as server:
        async with http_client(policy("one.test", "two.test"), TLS, {"X-Key": "k"}) as client:
            for name in ("one.test", "two.test", "one.test"):
                assert (await client.get(f"http://{name}:{server.port}/mcp")).json() == {}
        hosts = [request.header("host")[0].partition(":")[0] for request in server.requests]
        assert hosts == ["one.test", "two.test", "one.test"]
        assert [request.header("x-key") for request in server.requests] == [["k"]] * 3
        connections = [request.connection for request in server.requests]
        assert connections[0] != connections[1], "two names never share a connection"
        assert connections[0] == connections[2]


async def test_what_the_policy_forbids_is_refused_before_any_connection() -> None:
    async with RawUpstream((answer(200, b"{}"),)) as server:
        async with http_client(NetPolicy(["one.test"]), TLS, {}) as client:
            with pytest.raises(httpx2.ConnectError, match="not allowed here"):
                await client.get(f"http://127.0.0.1:{server.port}/mcp")
        assert (server.requests, server.connections) == ([], 0)


async def test_a_redirect_is_not_followed() -> None:
    moved = answer(307, b"", "location: http://169.254.169.254/")
    async with RawUpstream((moved,)) as server, http_client(policy("one.test"), TLS, {}) as client:
        response = await client.get(f"http://one.test:{server.port}/")
        assert response.status_code == 307


async def test_a_host_is_reached_at_the_first_address_that_takes_a_connection() -> None:
    async def two(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with RawUpstream((answer(200, b"{}"),)) as server:
        url = f"http://one.test:{server.port}/mcp"
        async with http_client(NetPolicy(["one.test"], two, anywhere=True), TLS, {}) as client:
            answers = [await client.post(url, content=b"{}") for _ in range(2)]
        assert [each.status_code for each in answers] == [200, 200]
        assert [(each.body, each.connection) for each in server.requests] == [
            (b"{}", server.requests[0].connection)
        ] * 2
        assert server.requests[0].header("host") == [f"one.test:{server.port}"]
    async with http_client(NetPolicy(["one.test"], two, anywhere=True), TLS, {}) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(url)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON", "text/html", ""])
async def test_a_body_without_an_end_stops_at_the_limit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "BODY", 1000)
    long = answer(200, b"x" * 2000, kind=kind)
    async with RawUpstream((long,)) as server, http_client(policy("one.test"), TLS, {}) as client:
        with pytest.raises(httpx2.ReadError, match="larger than"):
            await client.get(f"http://one.test:{server.port}/")
