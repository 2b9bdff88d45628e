"""Requests that two servers could read differently, or that are no HTTP at all: 400, a closed connection, and not one
byte of them in an answer or a log."""

from __future__ import annotations

import logging

import orjson
import pytest
import structlog

from support.http_server import running

CANARY = "CANARY-5f1c9a"
HEAD = "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

MALFORMED = {
    "content length and chunked": HEAD + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two content lengths": HEAD + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "a signed content length": HEAD + "Content-Length: +5\r\n\r\nhello",
    "a chunked coding that is not the last": HEAD + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "bare line feeds": f"GET /health HTTP/1.1\nHost: localhost\nX-Secret: {CANARY}\n\n",
    "a folded header": f"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n {CANARY}\r\n\r\n",
    "a NUL in a value": f"GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {CANARY}\0\r\n\r\n",
    "a space before the colon": f"GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization : {CANARY}\r\n\r\n",
    "a header without a colon": f"GET /health HTTP/1.1\r\nHost: localhost\r\n{CANARY}\r\n\r\n",
    "an absolute target": f"GET http://evil.example/{CANARY} HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a target without a slash": f"GET {CANARY} HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two hosts": f"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: {CANARY}\r\n\r\n",
    "no host": f"GET /health HTTP/1.1\r\nX-Secret: {CANARY}\r\n\r\n",
    "an oversized authorization": f"GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: {CANARY * 4000}\r\n\r\n",
    "an oversized target": f"GET /{CANARY * 2000} HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown method": f"{CANARY} /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another protocol": f"{CANARY}\r\n\r\n",
    "an unknown version": f"GET /health HTTP/9.9\r\nHost: localhost\r\nX-Secret: {CANARY}\r\n\r\n",
    "a chunk size that is no number": HEAD + f"Transfer-Encoding: chunked\r\n\r\n{CANARY}\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_request_gets_400_and_a_closed_connection_and_is_quoted_nowhere(
    name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as lines:
        async with running() as server:
            answer = await server.raw(MALFORMED[name].encode())
    assert (answer.status, answer.closed) == (400, True)
    assert orjson.loads(answer.body)["error"]["code"] == "invalid_request_error"
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["server"] == "agentic-proxy"
    assert server.engine.requests == []
    out = capfd.readouterr()
    everything = answer.raw.decode("latin-1") + caplog.text + out.out + out.err + repr(lines)
    assert CANARY not in everything
    assert "Traceback" not in everything


@pytest.mark.parametrize(
    ("path", "lines", "body"),
    [
        ("/v1/responses", (f"Authorization: Bearer {CANARY}",), f'{{"{CANARY}": '.encode()),
        ("/v1/responses", (f"Content-Encoding: {CANARY}",), b"{}"),
        ("/v1/responses", (), f'{{"model":"m","input":{{"{CANARY}":1}}}}'.encode()),
        ("/v1/responses", ("Content-Encoding: gzip",), CANARY.encode()),
        (f"/{CANARY}", (), b"{}"),
        ("/v1/responses", (f"Origin: https://{CANARY}.example",), b"{}"),
    ],
)
async def test_a_refused_request_is_not_quoted_either(
    path: str, lines: tuple[str, ...], body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as logged:
        async with running() as server:
            answer = await server.post(body, *lines, path=path)
    assert 400 <= answer.status < 500
    assert CANARY not in answer.raw.decode() + caplog.text + repr(logged)
