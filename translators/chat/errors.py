"""Failure -> what a Chat Completions client reads: OpenAI's error object, as a body or as one chunk of a stream.

Wire fact: a chunk with a top-level ``error`` makes the OpenAI SDKs raise; no ``[DONE]`` follows it.
"""

from __future__ import annotations

import orjson

from translators.events import Json
from translators.responses.errors import TYPES, error_body
from translators.surrogates import clean_tree

__all__ = ["error_body", "stream_error"]

STATUS_OF: dict[str, int] = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "model_not_found": 404,
}
"""The status that a failure's stream code would have had before the head; others are faults of the server."""


def stream_error(error: Json) -> bytes:
    """The last chunk of a stream that failed, from the ``error`` of the failed hub response."""
    code = error.get("code")
    status = STATUS_OF.get(code or "", 500)
    kind = TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    body: Json = {"error": {"message": error.get("message"), "type": kind, "code": code, "param": None}}
    try:
        return b"data: %b\n\n" % orjson.dumps(body)
    except TypeError:
        return b"data: %b\n\n" % orjson.dumps(clean_tree(body))
