"""What an upstream said went wrong, as a Failure: one table from codes, types and statuses to our codes.

Only the code, message and parameter of a well-formed error object pass on. The engine redacts the message before a
client sees it; bodies that are no such object (HTML, plain text) are described, never quoted.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from translators.error_wording import (
    CODES,
    KINDS_OF_REFUSAL,
    MODEL,
    NUMBERS,
    OVERFLOW,
    POLICY,
    QUOTA,
    RATE,
    RATE_AFTER_ALL,
    REFUSALS,
    REJECTED,
    classify_words,
    room_for_output,
    unquoted,
)
from translators.failure import Failure, shortened
from translators.surrogates import clean_tree
from translators.waits import says_when, stated_wait, told_when

STATUSES: dict[int, str] = {
    401: "upstream_auth",
    402: QUOTA,
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

_STATUS = re.compile(r"[45][0-9][0-9]")
_NO_WORDS = re.compile(r"\s*(?:[<{\[]|data:|event:|:)")
LONGEST_RATE_WAIT = 3600.0
"""A quota in words that comes with a wait of at most an hour is a rate limit (Gemini words both alike)."""


def from_error_object(error: object, *, status: int | None = None, retry_after: float | None = None) -> Failure:
    """The Failure for an ``error`` value found in an upstream's body or stream (object, or a bare string).

    ``status`` is the HTTP status it came with, None inside a 200 stream; ``retry_after`` seconds from a header.
    """
    error = clean_tree(error)
    fields: dict[str, Any] = error if isinstance(error, dict) else {}
    if status is None:
        status = _status(fields.get("code")) or _status(fields.get("status"))
    fields = _of_its_source(fields)
    text = error if isinstance(error, str) else fields.get("message")
    message = text if isinstance(text, str) and text else "The upstream reported an error without a message."
    code = _name(fields.get("code")) or _name(fields.get("type"))
    wait = retry_after if retry_after is not None else stated_wait(fields, message)
    ours = _classify(fields, message, status, wait)
    param = fields.get("param")
    message = unquoted(message) if ours == MODEL else message
    return Failure(
        ours,
        told_when(message, wait) if ours == RATE else message,
        param=param if isinstance(param, str) else None,
        stream_code=code if ours == "upstream_error" or code == POLICY else None,
        upstream_code=code,
        retry_after=wait,
        resets_at=says_when(fields),
        retry_same=ours == MODEL,
        upstream_status=status,
    )


def _of_its_source(fields: dict[str, Any]) -> dict[str, Any]:
    """The error with what the provider behind a gateway said (OpenRouter: ``metadata.raw``, a body or a text, and
    ``error_type``). The gateway's own words are often only "Provider returned error"."""
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        return fields
    source = _source(metadata.get("raw"))
    found = {"type": metadata.get("error_type") or metadata.get("limit_source")}
    found |= {name: source[name] for name in ("code", "type", "param") if source.get(name)}
    told = source.get("message")
    if isinstance(told, str) and told.strip():
        own, name = fields.get("message"), metadata.get("provider_name")
        named = f" ({name})" if isinstance(name, str) and name else ""
        found["message"] = f"{own if isinstance(own, str) and own else 'The provider reported an error'}{named}: {told}"
    return {**fields, **{name: value for name, value in found.items() if isinstance(value, str)}}


def _source(raw: object) -> dict[str, Any]:
    """What a gateway quotes, as an error object; empty where it quotes a page, a stream or a piece of JSON."""
    quoted = raw
    if isinstance(raw, str):
        try:
            quoted = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return {} if _NO_WORDS.match(raw) else {"message": raw}
    error = _find_error(quoted)
    return error if isinstance(error, dict) else {}


def from_body(status: int, body: bytes, *, where: str, retry_after: float | None = None) -> Failure:
    """The Failure for an HTTP error answer. ``where`` names the provider for people; ``body`` may be anything."""
    failure = _of_body(status, body, where, retry_after)
    failure.retry_same = failure.retry_same or (failure.row.failover and status in RETRIED_STATUSES)
    return failure


def _of_body(status: int, body: bytes, where: str, retry_after: float | None) -> Failure:
    parsed: object = None
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    error = _find_error(parsed)
    if error is None:
        code = _classify({}, "", status, None)
        kind = "an HTML page" if looks_like_html(body) else "a body that is no JSON error object"
        text = f"{where} answered HTTP {status} with {kind}."
        text = told_when(text, retry_after) if code == RATE else text
        return Failure(code, text, retry_after=retry_after, upstream_status=status)
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
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        return _validation(detail[0])
    return {"message": detail} if isinstance(detail, str) else None


def _validation(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The first entry of a FastAPI validation error (Mistral, vLLM): what is wrong and where, never the value."""
    said, place = entry.get("msg"), entry.get("loc")
    if not isinstance(said, str) or not said:
        return None
    steps = [str(step) for step in place if step != "body"] if isinstance(place, list) else []
    where = f", field: '{'.'.join(steps)}'" if steps else ""
    return {"message": said + where, "code": entry.get("type"), "param": ".".join(steps) or None}


def _classify(fields: dict[str, Any], message: str, status: int | None, wait: float | None) -> str:
    if room_for_output(message) is not None:
        return "upstream_rejected"
    names = [_text(fields.get(key)) for key in ("code", "type", "status")]
    if any(NUMBERS.get(name) == OVERFLOW for name in names):
        return OVERFLOW
    if RATE_AFTER_ALL.search(message):
        return RATE
    words = classify_words(message, status)
    named = next((ours for name in names if (ours := CODES.get(name) or NUMBERS.get(name))), None)
    if words == QUOTA and named in (None, RATE) and wait is not None and wait <= LONGEST_RATE_WAIT:
        words = RATE
    refused = status not in STATUSES and not REFUSALS.isdisjoint(names)
    if named == "upstream_error" and (refused or status in STATUSES):
        named = None  # a name for anything: the other name or the status says more
    # What no wait will cure, and the model's own fault, say more than the name of a kind; else a name is surer.
    if named is not None and words not in (OVERFLOW, QUOTA, MODEL):
        return named
    if words is not None:
        return words
    if refused or (status is None and not KINDS_OF_REFUSAL.isdisjoint(names)):
        return REJECTED
    if status is None:
        return "upstream_error"
    if status in STATUSES:
        return STATUSES[status]
    return "upstream_rejected" if 400 <= status < 500 else "upstream_error"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 64 and not value.isdigit() else None


def _status(value: object) -> int | None:
    return int(value) if isinstance(value, (int, str)) and _STATUS.fullmatch(str(value)) else None
