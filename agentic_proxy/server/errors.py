"""Failure -> HTTP response: status and headers here, the body's bytes from the client's format."""

from __future__ import annotations

import math
import os

from aiohttp import web

from translators.failure import Failure
from translators.messages.errors import error_body as messages_body
from translators.responses.errors import error_body

JSON_TYPE = "application/json"
SERVER = "agentic-proxy"
"""Sent as ``Server`` so that aiohttp does not add its own line with versions."""


def request_id() -> str:
    """A fresh value for ``x-request-id``: random, so that it says nothing about other requests."""
    return "req_" + os.urandom(12).hex()


def base_headers(rid: str) -> dict[str, str]:
    """The headers of every JSON answer."""
    return {"Content-Type": JSON_TYPE, "Server": SERVER, "x-request-id": rid}


def json_response(body: bytes, rid: str, status: int = 200) -> web.Response:
    """A JSON answer from ready bytes."""
    return web.Response(body=body, status=status, headers=base_headers(rid))


def may_retry(failure: Failure) -> bool:
    """Whether the same request could succeed later. The OpenAI SDKs retry 408, 409, 429 and 5xx unless told not to;
    the failure table says it by what a client does with the stream code of equal meaning."""
    return failure.row.side != "client" and failure.row.posts_stream > 1


def failure_response(
    failure: Failure, rid: str, *, allow: str | None = None, close: bool = False, messages: bool = False
) -> web.Response:
    """The HTTP answer for a failure before any response head went out.

    ``allow`` is the ``Allow`` header of a 405; ``close`` ends the connection after the answer,
    ``messages`` gives it the body of the Messages API, where everything else has OpenAI's.
    """
    headers = base_headers(rid)
    if failure.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(failure.retry_after)))
    if not may_retry(failure):
        headers["x-should-retry"] = "false"
    if allow is not None:
        headers["Allow"] = allow
    if failure.status == 401 and failure.side == "client":
        headers["WWW-Authenticate"] = "Bearer"
    if close:
        headers["Connection"] = "close"
    if messages:
        headers["request-id"] = rid
    body = messages_body(failure, rid) if messages else error_body(failure)
    response = web.Response(body=body, status=failure.status, headers=headers)
    if close:
        response.force_close()
    return response
