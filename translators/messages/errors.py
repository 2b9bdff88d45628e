"""Failure -> what a Messages client reads: Anthropic's error envelope, as a body or as an ``error`` event.

Wire fact: ``{"type":"error","error":{"type","message"},"request_id"}``, types by HTTP status (public error page), and
``error.details.error_code`` where a program can do something about it. Claude Code makes room in its context when a
message begins with "prompt is too long". After a stream that failed it asks again without one (2.1.197), so an error
event costs one request more than a status.
"""

from __future__ import annotations

import orjson

from translators.events import Json
from translators.failure import Failure
from translators.surrogates import clean_tree

__all__ = ["error_body", "stream_error"]

TYPES: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""``error.type`` by HTTP status; other 4xx are ``invalid_request_error``, 5xx are ``api_error``."""

BY_CODE: dict[str, str] = {
    "rate_limit_exceeded": "rate_limit_error",
    "insufficient_quota": "billing_error",
    "invalid_prompt": "invalid_request_error",
    "context_length_exceeded": "invalid_request_error",
    "model_not_found": "not_found_error",
    "upstream_timeout": "timeout_error",
    "server_is_overloaded": "overloaded_error",
    "overloaded_error": "overloaded_error",
}
"""``error.type`` by the stream code of a failed hub response; others are ``api_error``."""

DETAILED = frozenset({"thread_not_found"})
"""Our codes that are Anthropic's too: on this one its SDKs send the whole conversation."""

TOO_LONG = "prompt is too long"


def error_body(failure: Failure, request_id: str | None = None) -> bytes:
    """The whole body as JSON bytes. Never raises: half characters are replaced."""
    status = failure.status
    kind = TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    envelope = _envelope(kind, _message(failure.code, failure.message), request_id)
    if failure.code in DETAILED:
        envelope["error"]["details"] = {"error_code": failure.code}
    return _dump(envelope)


def stream_error(error: Json) -> bytes:
    """The ``error`` event that ends a stream, from the ``error`` of the failed hub response."""
    code = error.get("code") or ""
    message = _message(code, error.get("message") or "")
    return b"event: error\ndata: %b\n\n" % _dump(_envelope(BY_CODE.get(code, "api_error"), message, None))


def _message(code: str, message: str) -> str:
    if code == "context_length_exceeded" and not message.lower().startswith(TOO_LONG):
        return f"{TOO_LONG}: {message}"
    return message


def _envelope(kind: str, message: str, request_id: str | None) -> Json:
    envelope: Json = {"type": "error", "error": {"type": kind, "message": message}}
    return {**envelope, "request_id": request_id} if request_id else envelope


def _dump(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        return orjson.dumps(clean_tree(body))
