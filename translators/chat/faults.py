"""Faults inside a Chat answer with status 200: the forms in which hosts say that something went wrong."""

from __future__ import annotations

from typing import Any

from translators.events import Json
from translators.failure import Failure
from translators.upstream_errors import from_error_object, looks_like_html


def inner_error(holder: Any) -> object:
    """The error value inside a frame; gateways wrap it once more (``{"error": {"error": {..}}}``) or not at all."""
    error = holder
    for _ in range(2):
        if isinstance(error, dict) and isinstance(error.get("error"), (dict, str)):
            error = error["error"]
    return error


def sole_object(chunk: Any) -> Json:
    """The object that a frame holds, also where it is wrapped in a list (Gemini's errors). Raises Failure
    ``upstream_invalid_response``."""
    if isinstance(chunk, list) and len(chunk) == 1:
        chunk = chunk[0]
    if not isinstance(chunk, dict):
        raise Failure("upstream_invalid_response", "The upstream sent JSON that is no chat completion chunk.")
    return chunk


def refuse_bare_error(chunk: Json) -> None:
    """Raise for an object without an answer that is an error without the word: vLLM, MiniMax, Z.ai, plain gateways."""
    status = chunk.get("base_resp")
    if isinstance(status, dict) and status.get("status_code"):
        raise from_error_object({"code": status["status_code"], "message": status.get("status_msg")})
    code = chunk.get("code")
    if chunk.get("object") == "error" or (isinstance(code, int) and code >= 400):
        raise from_error_object(chunk if "message" in chunk else {**chunk, "message": chunk.get("msg")})


def not_json(data: bytes) -> Failure:
    """The Failure for bytes that should have been a JSON object. They are described, never quoted."""
    if looks_like_html(data):
        text = "The upstream answered with an HTML page; check the provider's base_url (is /v1 missing?)."
    else:
        text = "The upstream sent something that is not JSON where a chat completion was expected."
    return Failure("upstream_invalid_response", text)
