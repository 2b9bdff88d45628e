"""What an upstream said went wrong, as a Failure: one table from codes, types and statuses to our codes.

Only the code, message and parameter of a well-formed error object pass on. The engine redacts the message before a
client sees it; bodies that are no such object (HTML, plain text) are described, never quoted.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from translators.failure import Failure, shortened

CODES: dict[str, str] = {
    "context_length_exceeded": "context_length_exceeded",
    "exceed_context_size_error": "context_length_exceeded",
    "insufficient_quota": "insufficient_quota",
    "rate_limit_exceeded": "rate_limit_exceeded",
    "rate_limit_error": "rate_limit_exceeded",
    "slow_down": "rate_limit_exceeded",
    "server_is_overloaded": "upstream_overloaded",
    "overloaded_error": "upstream_overloaded",
    "server_error": "upstream_error",
    "api_error": "upstream_error",
}
"""An error object's ``code``, else its ``type``: OpenAI, Anthropic and llama.cpp names."""

STATUSES: dict[int, str] = {
    401: "upstream_auth",
    403: "upstream_auth",
    404: "upstream_not_found",
    408: "upstream_timeout",
    429: "rate_limit_exceeded",
    503: "upstream_overloaded",
    504: "upstream_timeout",
    529: "upstream_overloaded",
}

RETRIED_STATUSES = frozenset({502, 503, 529})
"""Answers of a gateway or of an overloaded server: the same candidate may be asked once more."""

PASSED_STATUSES = frozenset({400, 413, 422})
"""Refusals of the request itself: the client gets the same status and the upstream's own code."""

CONTEXT_OVERFLOW = re.compile(
    r"maximum context length|maximum prompt length|context window|exceeds? the available context", re.I
)
_STATUS = re.compile(r"[45][0-9][0-9]")
WAIT = re.compile(r"try again in (\d{1,9}(?:\.\d{1,9})?) ?(ms|s)\b", re.I)


def from_error_object(error: object, *, status: int | None = None, retry_after: float | None = None) -> Failure:
    """The Failure for an ``error`` value found in an upstream's body or stream (object, or a bare string).

    ``status`` is the HTTP status it came with, None inside a 200 stream; ``retry_after`` seconds from a header.
    """
    fields: dict[str, Any] = error if isinstance(error, dict) else {}
    text = error if isinstance(error, str) else fields.get("message")
    message = text if isinstance(text, str) and text else "The upstream reported an error without a message."
    code = _name(fields.get("code")) or _name(fields.get("type"))
    if status is None:
        status = _status(fields.get("code")) or _status(fields.get("status"))
    ours = _classify(code, message, status)
    wait = retry_after if retry_after is not None else _wait(message)
    param = fields.get("param")
    passed = status if status in PASSED_STATUSES else None
    return Failure(
        ours,
        message,
        param=param if isinstance(param, str) else None,
        status=passed,
        stream_code=code if ours == "upstream_error" else None,
        upstream_code=code,
        retry_after=wait,
    )


def from_body(status: int, body: bytes, *, where: str, retry_after: float | None = None) -> Failure:
    """The Failure for an HTTP error answer. ``where`` names the provider for people; ``body`` may be anything."""
    failure = _of_body(status, body, where, retry_after)
    failure.retry_same = status in RETRIED_STATUSES
    return failure


def _of_body(status: int, body: bytes, where: str, retry_after: float | None) -> Failure:
    parsed: object = None
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    error = _find_error(parsed)
    if error is None:
        code = _classify(None, "", status)
        kind = "an HTML page" if looks_like_html(body) else "a body that is no JSON error object"
        return Failure(code, f"{where} answered HTTP {status} with {kind}.", retry_after=retry_after)
    failure = from_error_object(error, status=status, retry_after=retry_after)
    if failure.row.side == "upstream" and failure.code != "context_length_exceeded":
        failure.message = shortened(f"{where} answered HTTP {status}: {failure.message}")
    return failure


def looks_like_html(body: bytes) -> bool:
    """Whether a body is a web page: the usual answer of a wrong base URL or of a proxy in between."""
    head = body[:256].lstrip().lower()
    return head.startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))


def _find_error(parsed: object) -> object:
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return None
    error = parsed.get("error")
    if isinstance(error, dict):
        return error
    if isinstance(error, str):
        return {"message": error, "code": parsed.get("code")}
    if isinstance(parsed.get("message"), str):
        return parsed
    detail = parsed.get("detail")
    return {"message": detail} if isinstance(detail, str) else None


def _classify(code: str | None, message: str, status: int | None) -> str:
    if code in CODES:
        return CODES[code]
    if CONTEXT_OVERFLOW.search(message):
        return "context_length_exceeded"
    if status is None:
        return "upstream_error"
    if status in STATUSES:
        return STATUSES[status]
    return "upstream_rejected" if 400 <= status < 500 else "upstream_error"


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 64 and not value.isdigit() else None


def _status(value: object) -> int | None:
    return int(value) if isinstance(value, (int, str)) and _STATUS.fullmatch(str(value)) else None


def _wait(message: str) -> float | None:
    found = WAIT.search(message)
    if not found:
        return None
    return float(found[1]) / (1000 if found[2].lower() == "ms" else 1)
