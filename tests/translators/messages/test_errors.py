"""Failures as a Messages client reads them."""

from __future__ import annotations

import json

import pytest

from translators.failure import Failure
from translators.messages.errors import error_body, stream_error


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("invalid_request_error", None, "invalid_request_error"),
        ("invalid_api_key", None, "authentication_error"),
        ("model_not_found", None, "not_found_error"),
        ("rate_limit_exceeded", None, "rate_limit_error"),
        ("body_too_large", None, "invalid_request_error"),
        ("upstream_rejected", 413, "request_too_large"),
        ("upstream_overloaded", None, "overloaded_error"),
        ("upstream_timeout", None, "timeout_error"),
        ("upstream_closed", None, "api_error"),
        ("upstream_rejected", 422, "invalid_request_error"),
    ],
)
def test_the_type_follows_the_status(code: str, status: int | None, kind: str) -> None:
    body = json.loads(error_body(Failure(code, "text", status=status), "req_1"))
    assert body == {"type": "error", "error": {"type": kind, "message": "text"}, "request_id": "req_1"}


def test_a_thread_that_is_not_kept_has_the_code_on_which_sdks_send_the_whole() -> None:
    error = json.loads(error_body(Failure("thread_not_found", "text")))["error"]
    details = {"error_code": "thread_not_found"}
    assert error == {"type": "not_found_error", "message": "text", "details": details}


@pytest.mark.parametrize(
    ("code", "kind"),
    [("server_error", "api_error"), ("rate_limit_exceeded", "rate_limit_error"), ("new", "api_error")],
)
def test_the_event_that_ends_a_stream(code: str, kind: str) -> None:
    name, data = stream_error({"code": code, "message": "text"}).split(b"\n")[:2]
    assert name == b"event: error"
    assert json.loads(data[6:]) == {"type": "error", "error": {"type": kind, "message": "text"}}


def test_too_long_a_prompt_is_told_in_the_words_on_which_claude_code_makes_room() -> None:
    body = json.loads(error_body(Failure("context_length_exceeded", "maximum context length is 8")))
    assert body["error"]["message"] == "prompt is too long: maximum context length is 8"
    kept = json.loads(error_body(Failure("context_length_exceeded", "prompt is too long: 9 tokens > 8 maximum")))
    assert kept["error"]["message"] == "prompt is too long: 9 tokens > 8 maximum"


def test_half_a_character_does_not_break_it() -> None:
    assert b'"api_error"' in stream_error({"code": "x", "message": "a\ud83d"})
