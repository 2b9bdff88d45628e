"""What an upstream said went wrong, as a Failure."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from translators.error_wording import REFUSALS
from translators.failure import MESSAGE_LIMIT
from translators.upstream_errors import CODES, from_body, from_error_object, looks_like_html

Json = dict[str, Any]


@pytest.mark.parametrize(("code", "ours"), CODES.items())
@pytest.mark.parametrize("key", ["code", "type"])
def test_known_codes_and_types_are_classified(key: str, code: str, ours: str) -> None:
    failure = from_error_object({key: code, "message": "m"})
    assert (failure.code, failure.upstream_code, failure.message) == (ours, code, "m")


@pytest.mark.parametrize("code", sorted(REFUSALS))
@pytest.mark.requirement("NW9")
def test_a_request_that_would_be_refused_again_is_no_fault_of_the_provider(code: str) -> None:
    failure = from_error_object({"code": code, "message": "m"})
    assert (failure.code, failure.blames_credential, failure.row.failover) == ("upstream_rejected", False, False)


OBJECTS: dict[str, tuple[object, int | None, str, int, str]] = {
    "nothing": (None, None, "upstream_error", 502, "server_error"),
    "a list": ([1], None, "upstream_error", 502, "server_error"),
    "a string": ("broken", None, "upstream_error", 502, "server_error"),
    "an own code": ({"code": "gpu_on_fire", "message": "m"}, None, "upstream_error", 502, "gpu_on_fire"),
    "a number as code": ({"code": 500, "type": "server_error"}, None, "upstream_error", 502, "server_error"),
    "a status as code": ({"code": 429, "message": "m"}, None, "rate_limit_exceeded", 429, "rate_limit_exceeded"),
    "a status as text": ({"code": "401", "message": "m"}, None, "upstream_auth", 403, "invalid_prompt"),
    "a status beside it": ({"status": 503, "message": "m"}, None, "upstream_overloaded", 503, "server_error"),
    "digits of another script": ({"code": "²", "message": "m"}, None, "upstream_error", 502, "server_error"),
    "endless digits": ({"code": "4" * 5000, "message": "m"}, None, "upstream_error", 502, "server_error"),
    "overflow by words": (
        {"message": "This model's maximum context length is 8192 tokens."}, 400,
        "context_length_exceeded", 400, "context_length_exceeded",
    ),
    "refused": ({"code": "bad_schema", "message": "m"}, 422, "upstream_rejected", 400, "invalid_prompt"),
    "refused inside a stream": ({"type": "invalid_request_error"}, None, "upstream_rejected", 400, "invalid_prompt"),
    "a kind of refusal with a status": (
        {"code": "invalid_request_error", "message": "m"}, 429, "rate_limit_exceeded", 429, "rate_limit_exceeded",
    ),
    "a kind of refusal of a server": (
        {"type": "invalid_request_error"}, 500, "upstream_error", 502, "invalid_request_error",
    ),
    "a refusal that Codex knows": (
        {"type": "server_error", "code": "cyber_policy"}, None, "upstream_rejected", 400, "cyber_policy",
    ),
    "a refusal behind a gateway": ({"code": "invalid_value"}, 502, "upstream_rejected", 400, "invalid_prompt"),
    "a refusal with a status that says more": ({"code": "invalid_value"}, 401, "upstream_auth", 403, "invalid_prompt"),
    "not found": ({"message": "m"}, 404, "upstream_not_found", 400, "invalid_prompt"),
    "timed out": ({"message": "m"}, 408, "upstream_timeout", 504, "upstream_timeout"),
    "teapot": ({"message": "m"}, 418, "upstream_rejected", 400, "invalid_prompt"),
}  # fmt: skip


@pytest.mark.parametrize(("error", "status", "code", "http", "stream"), OBJECTS.values(), ids=OBJECTS)
def test_an_error_object_becomes_one_failure(
    error: object, status: int | None, code: str, http: int, stream: str
) -> None:
    failure = from_error_object(error, status=status)
    assert (failure.code, failure.status, failure.stream_code) == (code, http, stream)
    assert failure.message


@pytest.mark.parametrize(
    ("message", "header", "seconds"),
    [
        ("Please try again in 1.5s.", None, 1.5),
        ("try again in 250ms", None, 0.25),
        ("try again in 3 s", 9.0, 9.0),
        ("try again later", None, None),
        ("try again in " + "9" * 400 + "s", None, None),
    ],
)
def test_the_wait_comes_from_the_header_or_the_message(
    message: str, header: float | None, seconds: float | None
) -> None:
    failure = from_error_object({"code": "rate_limit_exceeded", "message": message}, retry_after=header)
    assert failure.retry_after == seconds


BODIES: dict[str, tuple[int, bytes, str, str]] = {
    "openai": (
        400, orjson.dumps({"error": {"message": "Bad.", "code": "bad_thing"}}),
        "upstream_rejected", "house answered HTTP 400: Bad.",
    ),
    "a string": (500, b'{"error":"down"}', "upstream_error", "house answered HTTP 500: down"),
    "bare": (401, b'{"message":"who?"}', "upstream_auth", "house answered HTTP 401: who?"),
    "a list of one": (403, b'[{"error":{"message":"no"}}]', "upstream_auth", "house answered HTTP 403: no"),
    "detail": (422, b'{"detail":"bad field"}', "upstream_rejected", "house answered HTTP 422: bad field"),
    "overflow": (
        400, b'{"error":{"type":"exceed_context_size_error","message":"too long"}}',
        "context_length_exceeded", "too long",
    ),
    "a page": (502, b"<!DOCTYPE html><title>Bad", "upstream_error", "house answered HTTP 502 with an HTML page."),
    "text": (
        503, b"busy, token=abc", "upstream_overloaded",
        "house answered HTTP 503 with a body that is no JSON error object.",
    ),
    "nothing": (
        504, b"", "upstream_timeout", "house answered HTTP 504 with a body that is no JSON error object.",
    ),
    "null error": (
        500, b'{"error":null}', "upstream_error", "house answered HTTP 500 with a body that is no JSON error object.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("status", "body", "code", "message"), BODIES.values(), ids=BODIES)
def test_an_http_error_is_described_and_never_quoted_raw(status: int, body: bytes, code: str, message: str) -> None:
    failure = from_body(status, body, where="house", retry_after=4.0)
    assert (failure.code, failure.message, failure.retry_after) == (code, message, 4.0)
    assert failure.retry_same == (status in (502, 503, 529))


def test_half_characters_in_an_error_are_replaced_so_that_it_can_be_told() -> None:
    failure = from_error_object({"message": "so \ud83d", "code": "odd\ude00", "param": "\ud83d\ude00"})
    assert (failure.message, failure.upstream_code, failure.param) == ("so \ufffd", "odd\ufffd", "😀")
    assert from_error_object("\ud83d").message == "\ufffd"


def test_a_message_is_cut_with_its_introduction() -> None:
    body = orjson.dumps({"error": {"message": "x" * 4000}})
    assert len(from_body(500, body, where="house").message) == MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b" <!DOCTYPE HTML>", True),
        (b"<html lang=en>", True),
        (b"<?xml", True),
        (b"<div>", False),
        (b"{}", False),
        (b"", False),
    ],
)
def test_web_pages_are_recognised(body: bytes, expected: bool) -> None:
    assert looks_like_html(body) is expected


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("error parsing tool call: raw='{\"path\":\"SECRET\"}', err=invalid character", "error parsing tool call"),
        ("Failed to parse input at pos 31: <tool_call>SECRET", "Failed to parse input at pos 31"),
        ('Unexpected tokens remaining in message header: Some("X")', "Unexpected tokens remaining in message header"),
    ],
)
@pytest.mark.parametrize("status", [None, 500])
def test_a_model_text_that_its_host_could_not_read_is_the_models_fault_and_is_not_quoted(
    said: str, kept: str, status: int | None
) -> None:
    """ollama/ollama#12884, ggml-org/llama.cpp#20761, vllm-project/vllm#51977."""
    failure = from_error_object({"message": said, "type": "server_error"}, status=status)
    assert (failure.code, failure.message, failure.retry_same) == ("invalid_tool_arguments", kept, True)
