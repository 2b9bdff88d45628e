"""The guard stands before the upgrade: web pages and strangers get no socket."""

from __future__ import annotations

import json

import pytest

from agentic_proxy.config.model import Config, Server
from agentic_proxy.config.secrets import Secret
from support.http_server import Running, running
from support.websocket import HANDSHAKE, PATH

KEYS = Config(server=Server(api_keys=(Secret("sk-good"),)))


async def status(server: Running, *headers: str, host: str = "") -> tuple[int, str | None]:
    """The status of an upgrade with these headers, and the error code."""
    host = host or f"127.0.0.1:{server.port}"
    lines = [f"GET {PATH} HTTP/1.1", f"Host: {host}", *HANDSHAKE, *headers, "", ""]
    answer = await server.raw("\r\n".join(lines).encode())
    return answer.status, json.loads(answer.body)["error"]["code"] if answer.body else None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), (101, None)),
        (("Origin: http://evil.example",), (403, "forbidden_origin")),
        (("Origin: null",), (403, "forbidden_origin")),
        (("Sec-Fetch-Site: cross-site",), (403, "forbidden_origin")),
    ],
    ids=repr,
)
async def test_a_web_page_gets_no_socket(headers: tuple[str, ...], expected: tuple[int, str | None]) -> None:
    async with running() as server:
        assert await status(server, *headers) == expected


async def test_a_foreign_host_name_gets_no_socket() -> None:
    async with running() as server:
        assert await status(server, host="evil.example") == (421, "misdirected_request")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), (401, "invalid_api_key")),
        (("Authorization: Bearer sk-bad",), (401, "invalid_api_key")),
        (("Authorization: Bearer sk-good",), (101, None)),
        (("x-api-key: sk-good",), (101, None)),
    ],
    ids=repr,
)
async def test_a_client_without_a_key_gets_no_socket(
    headers: tuple[str, ...], expected: tuple[int, str | None]
) -> None:
    async with running(KEYS) as server:
        assert await status(server, *headers) == expected
