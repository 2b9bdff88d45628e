"""The guard, over a real socket: which requests a browser, a foreign name or a keyless client cannot make."""

from __future__ import annotations

from typing import NamedTuple

import orjson
import pytest

from agentic_proxy.config.model import Config, Server
from agentic_proxy.config.secrets import Secret
from agentic_proxy.server.guard import split_target
from support.http_server import running

SERVER = Server(
    host="127.0.0.1",
    allowed_hosts=("proxy.lan", "tunnel.lan:80", "2001:db8::1"),
    allowed_origins=("app://codex", "http://tool.example"),
)
JSON = "Content-Type: application/json"
OK = (200, None)
NO_HOST = (400, "invalid_request_error")
WRONG_HOST = (421, "misdirected_request")
FOREIGN = (403, "forbidden_origin")
NOT_JSON = (415, "unsupported_media_type")


class Case(NamedTuple):
    """``{port}`` in a line is the server's port."""

    name: str
    expected: tuple[int, str | None]
    lines: tuple[str, ...]
    target: str = "GET /health"
    body: bytes = b""


def host(value: str, *more: str) -> tuple[str, ...]:
    return (f"Host: {value}", *more)


OWN = "127.0.0.1:{port}"
POST = "POST /v1/responses"
BODY = b'{"model":"m","input":"hi"}'

CASES = [
    Case("IPv4 loopback with the port", OK, host(OWN)),
    Case("IPv4 loopback without a port", OK, host("127.0.0.1")),
    Case("localhost", OK, host("localhost:{port}")),
    Case("localhost in capitals", OK, host("LOCALHOST")),
    Case("IPv6 loopback", OK, host("[::1]:{port}")),
    Case("any port is accepted, for tunnels", OK, host("localhost:9999")),
    Case("an allowed name", OK, host("proxy.lan")),
    Case("an allowed name with a port", OK, host("proxy.lan:80")),
    Case("a name that was allowed with its port", OK, host("tunnel.lan:80")),
    Case("that name with another port", OK, host("tunnel.lan:81")),
    Case("an allowed IPv6 address", OK, host("[2001:db8::1]:80")),
    Case("a foreign name", WRONG_HOST, host("evil.example")),
    Case("a foreign name with our port", WRONG_HOST, host("evil.example:{port}")),
    Case("a name that starts like ours", WRONG_HOST, host("localhost.evil.example")),
    Case("a name that ends like ours", WRONG_HOST, host("evil-localhost")),
    Case("user info before the name", WRONG_HOST, host("localhost@evil.example")),
    Case("another loopback address", WRONG_HOST, host("127.0.0.2")),
    Case("the unspecified address", WRONG_HOST, host("0.0.0.0")),
    Case("a trailing dot", WRONG_HOST, host("localhost.")),
    Case("a port that is no number", WRONG_HOST, host("localhost:http")),
    Case("an empty Host", WRONG_HOST, host("")),
    Case("no Host in HTTP/1.1", NO_HOST, ()),
    Case("two Hosts", NO_HOST, ("Host: localhost", "Host: evil.example")),
    Case("two equal Hosts", NO_HOST, ("Host: localhost", "Host: localhost")),
    Case("a foreign Host on an unknown path", WRONG_HOST, host("evil.example"), "GET /nothing"),
    Case("a foreign Host on a POST", WRONG_HOST, host("evil.example", JSON), POST, BODY),
    Case("our own Origin", OK, host(OWN, "Origin: http://" + OWN)),
    Case("a page on another localhost port", FOREIGN, host(OWN, "Origin: http://localhost:3000")),
    Case("our Origin by another name", FOREIGN, host(OWN, "Origin: http://localhost:{port}")),
    Case("our address with another scheme", FOREIGN, host(OWN, "Origin: https://" + OWN)),
    Case("a foreign Origin", FOREIGN, host(OWN, "Origin: https://evil.example")),
    Case("the null Origin", FOREIGN, host(OWN, "Origin: null")),
    Case("a foreign Origin on a POST", FOREIGN, host(OWN, JSON, "Origin: https://evil.example"), POST, BODY),
    Case(
        "a foreign Origin on the WebSocket handshake",
        FOREIGN,
        host(OWN, "Origin: https://evil.example", "Connection: Upgrade", "Upgrade: websocket"),
        "GET /v1/responses",
    ),
    Case("an allowed Origin", OK, host(OWN, "Origin: app://codex")),
    Case("an allowed Origin in a cross-site fetch", OK, host(OWN, "Origin: app://codex", "Sec-Fetch-Site: cross-site")),
    Case("an allowed and a foreign Origin", FOREIGN, host(OWN, "Origin: app://codex", "Origin: https://evil.example")),
    Case("a longer Origin than an allowed one", FOREIGN, host(OWN, "Origin: http://tool.example.evil.example")),
    Case("a cross-site fetch without an Origin", FOREIGN, host(OWN, "Sec-Fetch-Site: cross-site")),
    Case("a same-site fetch", FOREIGN, host(OWN, "Sec-Fetch-Site: same-site")),
    Case("a same-origin fetch", OK, host(OWN, "Sec-Fetch-Site: same-origin")),
    Case("an address typed by the user", OK, host(OWN, "Sec-Fetch-Site: none")),
    Case("JSON", OK, host(OWN, JSON), POST, BODY),
    Case("JSON with a charset, in capitals", OK, host(OWN, JSON.upper() + "; charset=utf-8"), POST, BODY),
    Case("text/plain", NOT_JSON, host(OWN, "Content-Type: text/plain"), POST, BODY),
    Case("a form", NOT_JSON, host(OWN, "Content-Type: application/x-www-form-urlencoded"), POST, BODY),
    Case("a type that only starts like JSON", NOT_JSON, host(OWN, "Content-Type: application/json5"), POST, BODY),
    Case("no Content-Type", NOT_JSON, host(OWN), POST, BODY),
    Case("a form on an unknown path", NOT_JSON, host(OWN, "Content-Type: text/plain"), "POST /nothing", BODY),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_request_passes_only_if_it_could_not_come_from_a_page_or_a_foreign_name(case: Case) -> None:
    async with running(Config(server=SERVER)) as server:
        lines = [f"{case.target} HTTP/1.1", *case.lines]
        if case.body:
            lines.append(f"Content-Length: {len(case.body)}")
        answer = await server.raw(("\r\n".join(lines).format(port=server.port) + "\r\n\r\n").encode() + case.body)
        code = orjson.loads(answer.body).get("error", {}).get("code")
        assert (answer.status, code) == case.expected
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert len(server.engine.requests) == (1 if case.target == POST and case.expected == OK else 0)


@pytest.mark.parametrize("path", ["/health", "/v1/responses", "/v1/models"])
async def test_a_preflight_gets_405_and_no_grant_even_for_an_allowed_origin(path: str) -> None:
    async with running(Config(server=SERVER)) as server:
        answer = await server.get(
            path,
            "Origin: app://codex",
            "Access-Control-Request-Method: POST",
            "Sec-Fetch-Site: cross-site",
            method="OPTIONS",
        )
        assert answer.status == 405
        assert not [name for name in answer.headers if name.startswith("access-control-")]


KEYS = Config(server=Server(api_keys=(Secret("first-key"), Secret("zweiter-schlüssel"))))


@pytest.mark.parametrize(
    ("path", "lines", "status"),
    [
        ("/v1/models", ("Authorization: Bearer first-key",), 200),
        ("/v1/models", ("Authorization: bearer zweiter-schlüssel",), 200),
        ("/v1/models", ("x-api-key: first-key",), 200),
        ("/v1/models", ("Authorization: Bearer other", "x-api-key: first-key"), 200),
        ("/v1/models", (), 401),
        ("/v1/models", ("Authorization: Bearer first-ke",), 401),
        ("/v1/models", ("Authorization: Bearer ",), 401),
        ("/v1/models", ("Authorization: Basic first-key",), 401),
        ("/v1/models", ("x-api-key: ***",), 401),
        ("/v1/models?key=first-key", (), 401),
        ("/ready", (), 401),
        ("/nothing", (), 401),
        ("/health", (), 200),
    ],
)
async def test_with_keys_configured_every_path_but_health_needs_one(
    path: str, lines: tuple[str, ...], status: int
) -> None:
    async with running(KEYS) as server:
        answer = await server.get(path, *lines)
        assert answer.status == status
        if status == 401:
            assert orjson.loads(answer.body)["error"]["code"] == "invalid_api_key"
            assert answer.headers["www-authenticate"] == "Bearer"
            assert b"first" not in answer.raw


async def test_a_bind_address_beyond_loopback_is_one_of_our_names() -> None:
    async with running(Config(server=Server(host="10.1.2.3"))) as server:
        assert (await server.raw(b"GET /health HTTP/1.1\r\nHost: 10.1.2.3:8484\r\n\r\n")).status == 200
        assert (await server.raw(b"GET /health HTTP/1.1\r\nHost: 10.1.2.4:8484\r\n\r\n")).status == 421


@pytest.mark.parametrize(
    ("target", "path"), [("/a?b=/c?d", "/a"), ("/", "/"), ("http://h/a", None), ("*", None), ("", None)]
)
def test_only_a_target_in_origin_form_has_a_path(target: str, path: str | None) -> None:
    assert split_target(target) == path
