"""Bodies: size after decoding, codings, JSON and its depth."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Limits
from agentic_proxy.server import limits
from agentic_proxy.server.limits import MAX_DEPTH, BodyDecoder, parse_object
from support.http_server import running
from translators.failure import ROWS, Failure

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = orjson.dumps({"model": "m", "input": "hé" * 500})


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def members(data: bytes) -> bytes:
    return gzip.compress(data[:100]) + gzip.compress(data[100:])


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("GZIP", members),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("zstd", zstd.compress),
    ("zstd", lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:])),
]


def failure(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(Failure) as caught:
        call()
    return caught.value.code, caught.value.message


def decode(coding: str, pieces: list[bytes], limit: int) -> bytes:
    decoder = BodyDecoder(coding, limit)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


@pytest.mark.parametrize(("coding", "pack"), CODINGS)
def test_a_coded_body_decodes_whole_and_byte_by_byte(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(BODY)
    assert decode(coding, [packed], len(BODY)) == BODY
    assert decode(coding, [bytes([byte]) for byte in packed], len(BODY)) == BODY
    assert failure(lambda: decode(coding, [packed], len(BODY) - 1))[0] == "body_too_large"


@pytest.mark.parametrize(("coding", "pack"), CODINGS)
def test_a_cut_or_foreign_coded_body_is_refused(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(BODY)
    for bad in ([packed[:-1]], [b"no such coding"], [packed, b"rubbish"], []):
        code, message = failure(lambda bad=bad: decode(coding, bad, 1 << 20))  # type: ignore[misc]
        assert code == "invalid_request_error"
        assert "rubbish" not in message


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_bomb_is_stopped_at_the_limit_and_never_unpacked(pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(bytes(64 << 20))
    coding = "gzip" if pack is gzip.compress else "zstd"
    tracemalloc.start()
    try:
        assert failure(lambda: decode(coding, [bomb], 1 << 20))[0] == "body_too_large"
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("coding", ["br", "compress", "gzip, zstd", "nonsense"])
def test_an_unknown_coding_is_415(coding: str) -> None:
    assert failure(lambda: BodyDecoder(coding, 1))[0] == "unsupported_media_type"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The request body is empty: send a JSON object."),
        (b"[1]", "The request body must be a JSON object."),
        (b"null", "The request body must be a JSON object."),
        (b'{"a":1,\n  secret}', "The request body is not valid JSON (line 2, column 3)."),
        (b'{"a":"\\ud83d", secret}', "The request body is not valid JSON (line 1, column 16)."),
        (b'{"a":NaN}', "The request body is not valid JSON (line 1, column 6)."),
        (b'{"a":NaN,"b":"\\ud83d"}', "The request body is not valid JSON: it is not UTF-8, or has NaN or Infinity."),
        (b'{"a":"\\ud83d\xff"}', "The request body is not valid JSON: it is not UTF-8, or has NaN or Infinity."),
        (b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH, None),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "deep"),
        (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "deep"),
        (b'{"a":"\\ud83d","b":' + b"[" * 200000 + b"]" * 200000 + b"}", "deep"),
    ],
)
def test_a_body_that_is_no_sound_json_object_is_refused_with_a_place_and_without_a_quote(
    data: bytes, message: str | None
) -> None:
    if message is None:
        assert parse_object(data)
        return
    if message == "deep":
        message = "The request body is nested more than 128 levels deep."
    assert failure(lambda: parse_object(data)) == ("invalid_request_error", message)


def test_a_lone_surrogate_in_an_escape_is_kept_for_the_translator() -> None:
    assert parse_object(b'{"a":"x\\ud83d","b":"\\ud83d\\ude00"}') == {"a": "x\ud83d", "b": "😀"}
    assert parse_object(b'{"a":"\\ud83d","b":18446744073709551616}') == {"a": "\ud83d", "b": float(2**64)}


SMALL = Config(limits=Limits(body=1000))


@pytest.mark.parametrize(
    ("body", "lines", "code"),
    [
        (b'{"model":"m","input":"' + b"a" * 976 + b'"}', (), None),
        (b'{"model":"m","input":"' + b"a" * 977 + b'"}', (), "body_too_large"),
        (gzip.compress(b'{"model":"m","input":"' + b"a" * 976 + b'"}'), ("Content-Encoding: gzip",), None),
        (gzip.compress(b'{"model":"m","input":"' + b"a" * 977 + b'"}'), ("Content-Encoding: gzip",), "body_too_large"),
        (gzip.compress(bytes(50 << 20)), ("Content-Encoding: gzip",), "body_too_large"),
        (b'{"model":"m","input":"x"}', ("Content-Encoding: identity",), None),
        (b'{"model":"m","input":"x"}', ("Content-Encoding: br",), "unsupported_media_type"),
        (b'{"model":"m","input":"x"}', ("Content-Encoding: zstd",), "invalid_request_error"),
        (b"", (), "invalid_request_error"),
    ],
)
async def test_the_limit_holds_after_decoding(body: bytes, lines: tuple[str, ...], code: str | None) -> None:
    async with running(SMALL) as server:
        answer = await server.post(body, *lines)
        assert (orjson.loads(answer.body).get("error") or {}).get("code") == code
        assert answer.status == (200 if code is None else ROWS[code].status)


HEAD = "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


async def test_the_limit_holds_for_a_body_in_chunks() -> None:
    async with running(SMALL) as server:
        chunk = b"3e8\r\n" + b"a" * 1000 + b"\r\n"
        answer = await server.raw((HEAD + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunk * 2)
        assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (400, "body_too_large")


async def test_an_announced_size_beyond_the_limit_is_refused_before_a_byte_of_it() -> None:
    async with running(SMALL) as server:
        answer = await server.raw((HEAD + "Content-Length: 1001\r\n\r\n").encode())
        assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (400, "body_too_large")


async def test_a_client_that_waits_for_100_continue_gets_it_only_if_its_request_is_wanted() -> None:
    async with running(SMALL) as server:
        wait = "Expect: 100-continue\r\n\r\n"
        answer = await server.raw((HEAD + "Content-Length: 25\r\n" + wait).encode())
        assert answer.status == 100
        answer = await server.raw((HEAD + "Content-Length: 2500\r\n" + wait).encode())
        assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (400, "body_too_large")


async def test_a_body_that_stops_arriving_is_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.read_body, "__defaults__", (0.05,))
    async with running() as server:
        answer = await server.raw((HEAD + 'Content-Length: 100\r\n\r\n{"model":').encode())
        assert (answer.status, answer.headers["connection"]) == (408, "close")
