"""Failure -> OpenAI's error body."""

from __future__ import annotations

import orjson
import pytest

from translators.failure import ROWS, Failure
from translators.responses.errors import error_body, error_frame, error_object


@pytest.mark.parametrize("code", ROWS)
def test_every_failure_has_the_four_keys_of_an_openai_error(code: str) -> None:
    error = orjson.loads(error_body(Failure(code, "text", param="input")))["error"]
    assert error == {"message": "text", "type": error["type"], "code": code, "param": "input"}
    assert error["type"].endswith("_error")


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("invalid_request_error", None, "invalid_request_error"),
        ("invalid_api_key", None, "authentication_error"),
        ("forbidden_origin", None, "permission_error"),
        ("model_not_found", None, "not_found_error"),
        ("rate_limit_exceeded", None, "rate_limit_error"),
        ("upstream_error", None, "server_error"),
        ("upstream_error", 418, "invalid_request_error"),
        ("internal_error", None, "server_error"),
    ],
)
def test_the_type_follows_the_status(code: str, status: int | None, kind: str) -> None:
    assert error_object(Failure(code, "text", status=status))["type"] == kind


def test_an_upstreams_own_code_is_passed_on() -> None:
    failure = Failure("upstream_rejected", "text", upstream_code="content_policy_violation")
    assert error_object(failure)["code"] == "content_policy_violation"


def test_what_is_no_unicode_is_replaced() -> None:
    assert orjson.loads(error_body(Failure("model_not_found", "a\ud83d", param="\udc00")))["error"] == {
        "message": "a?", "type": "not_found_error", "code": "model_not_found", "param": "?"
    }


def test_a_websockets_error_frame_has_a_status_and_the_four_keys_and_no_number() -> None:
    frame = orjson.loads(error_frame(Failure("model_not_found", "text"), None))
    error = {"message": "text", "type": "not_found_error", "code": "model_not_found", "param": None}
    assert frame == {"type": "error", "status": 404, "error": error}


def test_an_error_frame_names_its_stream_and_how_long_to_wait_where_codex_and_the_sdks_look() -> None:
    frame = orjson.loads(error_frame(Failure("rate_limit_exceeded", "text", retry_after=1.2), "a"))
    assert (frame["stream_id"], frame["headers"], frame["error"]["headers"]) == (
        "a", {"Retry-After": "2"}, {"Retry-After": "2"}
    )


def test_what_is_no_unicode_is_replaced_in_an_error_frame_too() -> None:
    frame = orjson.loads(error_frame(Failure("model_not_found", "a\ud83d", param="\udc00"), None))
    assert (frame["error"]["message"], frame["error"]["param"]) == ("a?", "?")
