"""Failure -> the JSON error body of the OpenAI API (``POST /v1/responses`` and every other ``/v1`` route).

Wire fact: OpenAI's error object is ``{"error": {"message", "type", "param", "code"}}``, all four keys always present.
"""

from __future__ import annotations

import math

import orjson

from translators.events import Json
from translators.failure import Failure

TYPES: dict[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""``error.type`` by HTTP status; other 4xx are ``invalid_request_error``, 5xx are ``server_error``."""


PASSED_ON = frozenset({"upstream_rejected", "upstream_error"})
"""Failures of which the upstream's own code says more than ours."""


def error_object(failure: Failure) -> Json:
    """The inner error object. ``code`` is the upstream's own where its error is passed on, else the table's name."""
    passed_on = failure.code in PASSED_ON and failure.upstream_code is not None
    return {
        "message": failure.message,
        "type": TYPES.get(failure.status) or ("server_error" if failure.status >= 500 else "invalid_request_error"),
        "code": failure.upstream_code if passed_on else failure.code,
        "param": failure.param,
    }


def error_body(failure: Failure) -> bytes:
    """The whole body as JSON bytes. Never raises: what cannot be encoded is replaced by ``?``."""
    return _dump({"error": error_object(failure)})


def _dump(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        error = body["error"]
        for key in ("message", "code", "param"):
            if isinstance(error[key], str):
                error[key] = error[key].encode("utf-8", "replace").decode()
        return orjson.dumps(body)


def error_frame(failure: Failure, stream_id: str | None) -> bytes:
    """The JSON of a WebSocket error frame, where no response exists to fail. Never raises.

    Codex 0.171.0 treats it as an HTTP answer with that ``status``, and ignores a frame without one. How long to wait it
    reads from a top-level ``headers``; OpenAI's types have ``headers`` inside ``error``: it stands in both.
    """
    frame: Json = {"type": "error", "status": failure.status, "error": error_object(failure)}
    if failure.retry_after is not None:
        frame["headers"] = frame["error"]["headers"] = {"Retry-After": str(max(1, math.ceil(failure.retry_after)))}
    if stream_id is not None:
        frame["stream_id"] = stream_id
    return _dump(frame)
