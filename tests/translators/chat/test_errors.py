"""What a Chat client reads when a stream fails."""

from __future__ import annotations

import json

import pytest

from translators.chat.errors import error_body, stream_error
from translators.failure import Failure


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", "server_error"),
        ("invalid_prompt", "invalid_request_error"),
        ("rate_limit_exceeded", "rate_limit_error"),
        ("something_new", "server_error"),
    ],
)
def test_the_last_chunk_is_openais_error_object(code: str, kind: str) -> None:
    data = stream_error({"code": code, "message": "text"})
    assert data.startswith(b"data: ") and data.endswith(b"\n\n")
    assert json.loads(data[6:]) == {"error": {"message": "text", "type": kind, "code": code, "param": None}}


def test_half_a_character_does_not_break_it() -> None:
    assert json.loads(stream_error({"code": "x", "message": "a\ud83d"})[6:])["error"]["code"] == "x"


def test_the_body_before_a_stream_is_that_of_the_whole_api() -> None:
    body = json.loads(error_body(Failure("model_not_found", "No such model.", param="model")))
    assert body["error"]["code"] == "model_not_found"
