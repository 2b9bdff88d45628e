"""What a client may send: a body of bounded size, in a known coding, that is one JSON object of bounded depth."""

from __future__ import annotations

import asyncio
import json
import sys
import zlib
from typing import Any, Protocol, cast

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from translators import surrogates
from translators.events import Json
from translators.failure import Failure

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_DEPTH = 128
"""Levels of JSON nesting: less than what the translators and orjson's writer (254) can take."""
BODY_STALL = 30.0
"""Seconds that a client may pause while it sends a body."""


class _Decompressor(Protocol):
    """One member (gzip) or frame (zstd) of a compressed body."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _too_large(limit: int) -> Failure:
    text = f"The request body is larger than {limit} bytes (after decoding). Raise limits.body to accept it."
    return Failure("body_too_large", text)


def _bad_coding(coding: str) -> Failure:
    return Failure("invalid_request_error", f"The request body is not valid {coding} data.")


class BodyDecoder:
    """Decodes a body piece by piece and never holds more than ``limit`` + 1 decoded bytes.

    ``coding`` is the ``Content-Encoding`` value. Raises Failure ``unsupported_media_type`` for one that is not known.
    """

    def __init__(self, coding: str, limit: int) -> None:
        name = coding.strip().lower()
        self._coding = {"x-gzip": "gzip"}.get(name, name)
        if self._coding not in ("gzip", "deflate", "zstd"):
            text = "This content coding is not known: send gzip, deflate, zstd or none."
            raise Failure("unsupported_media_type", text)
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] = []
        self._current: _Decompressor | None = None

    def _start(self, first: bytes) -> _Decompressor:
        if self._coding == "zstd":
            return zstd.ZstdDecompressor()
        if self._coding == "gzip":
            return cast(_Decompressor, zlib.decompressobj(31))
        # "deflate" is a zlib stream by the standard and a bare one in practice: the first byte tells.
        return cast(_Decompressor, zlib.decompressobj(15 if first[0] & 0x0F == 8 else -15))

    def feed(self, data: bytes) -> None:
        """Raises Failure ``body_too_large`` as soon as the decoded size passes the limit, or
        ``invalid_request_error`` when the data does not fit the coding."""
        try:
            while data:
                if self._current is None or self._current.eof:
                    self._current = self._start(data)
                # Less than the room came out, so all input was taken: only what follows an end is left.
                piece = self._current.decompress(data, self._limit + 1 - self._size)
                self._size += len(piece)
                self._parts.append(piece)
                if self._size > self._limit:
                    raise _too_large(self._limit)
                data = self._current.unused_data if self._current.eof else b""
        except (zlib.error, zstd.ZstdError) as exc:
            raise _bad_coding(self._coding) from exc

    def finish(self) -> bytes:
        """The whole decoded body. Raises Failure ``invalid_request_error`` if it was cut off."""
        if self._current is None or not self._current.eof:
            raise _bad_coding(self._coding)
        return b"".join(self._parts)


async def read_body(request: web.BaseRequest, limit: int, stall: float = BODY_STALL) -> bytes:
    """The decoded body, at most ``limit`` bytes; a pause of more than ``stall`` seconds ends it.

    Raises Failure ``body_too_large``, ``unsupported_media_type`` or ``invalid_request_error``.
    """
    length = request.content_length
    if length is not None and length > limit:
        raise _too_large(limit)
    coding = request.headers.get("Content-Encoding")
    decoder = BodyDecoder(coding, limit) if coding and coding.strip().lower() != "identity" else None
    if request.headers.get("Expect", "").lower() == "100-continue":
        transport = request.transport
        if transport is not None:
            transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    content = request.content
    if decoder is None and content.is_eof():
        body = content.read_nowait()
        if len(body) > limit:
            raise _too_large(limit)
        return body
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            async with asyncio.timeout(stall):
                piece = await content.readany()
            if not piece:
                break
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            if decoder is None:
                parts.append(piece)
            else:
                decoder.feed(piece)
    except TimeoutError:
        text = f"The request body stopped arriving for {stall:g} seconds."
        raise Failure("invalid_request_error", text, status=408) from None
    except (HttpProcessingError, web.RequestPayloadError) as exc:
        raise Failure("invalid_request_error", "The request body is cut off or badly framed.") from exc
    return decoder.finish() if decoder is not None else b"".join(parts)


def _invalid(reason: str) -> Failure:
    return Failure("invalid_request_error", reason)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _parse(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as exc:
        if "depth" in exc.msg:
            raise _invalid(f"The request body is nested more than {MAX_DEPTH} levels deep.") from None
        if b"\\u" not in data:
            raise _invalid(f"The request body is not valid JSON (line {exc.lineno}, column {exc.colno}).") from None
    # orjson refuses lone surrogates in escapes, but clients do send them (a cut emoji): the standard parser keeps them.
    try:
        return json.loads(
            data, parse_constant=_refuse_constant, parse_int=surrogates.integer, parse_float=surrogates.real
        )
    except json.JSONDecodeError as err:
        raise _invalid(f"The request body is not valid JSON (line {err.lineno}, column {err.colno}).") from None
    except RecursionError:
        raise _invalid(f"The request body is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError:
        raise _invalid("The request body is not valid JSON: it is not UTF-8, or has NaN or Infinity.") from None


def _check_depth(root: Any) -> None:
    level: list[Any] = [root]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            values = node.values() if type(node) is dict else node
            below += [value for value in values if type(value) is dict or type(value) is list]
        if not below:
            return
        level = below
    raise _invalid(f"The request body is nested more than {MAX_DEPTH} levels deep.")


def parse_object(data: bytes) -> Json:
    """The JSON object of a body. Strings may hold lone surrogates.

    Raises Failure ``invalid_request_error`` with the position of a syntax error, never with the text found there.
    """
    if not data:
        raise _invalid("The request body is empty: send a JSON object.")
    body = _parse(data)
    if type(body) is not dict:
        raise _invalid("The request body must be a JSON object.")
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        _check_depth(body)
    return cast(Json, body)
