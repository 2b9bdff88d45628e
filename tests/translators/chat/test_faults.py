"""Faults inside a Chat stream, whatever form a host gives them."""

from __future__ import annotations

import pytest

from support.chat_stream import DONE, chunk, decoder, failure_of, frame, splits
from translators.chat.faults import inner_error, not_json
from translators.failure import Failure


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (b"data: {oops}\n\n", "upstream_invalid_response"),
        (b"data: 429 Too Many Requests\n\n", "upstream_invalid_response"),
        (b"data: [1]\n\n", "upstream_invalid_response"),
        (b'data: {"choices": 3}\n\n', "upstream_invalid_response"),
        (b"data: \xff\xfe\n\n", "upstream_invalid_response"),
        (b"<!DOCTYPE html>\n<p>\n\nhello</p>\n\n", "upstream_invalid_response"),
        (b'data: {"error": {"message": "boom", "code": 500}}\n\n', "upstream_error"),
        (b'data: {"error": {"error": {"message": "boom"}}}\n\n', "upstream_error"),
        (b'data: {"error": "boom"}\n\n', "upstream_error"),
        (b'event: error\ndata: {"message": "boom"}\n\n', "upstream_error"),
        (b'{"error": {"message": "boom"}}\n\n', "upstream_error"),
        (b'data: {"object": "error", "message": "boom", "code": 500}\n\n', "upstream_error"),
        (b'data: {"code": 429, "message": "slow down"}\n\n', "rate_limit_exceeded"),
        (b'data: {"base_resp": {"status_code": 1000, "status_msg": "boom"}}\n\n', "upstream_error"),
        (b'data: {"code": 401, "msg": "token expired or incorrect", "success": false}\n\n', "upstream_auth"),
        (
            b'data: [{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}]\n\n',
            "rate_limit_exceeded",
        ),
        (chunk("error"), "upstream_error"),
        (chunk("network_error"), "upstream_error"),
        (chunk("insufficient_system_resource"), "upstream_error"),
        (
            frame({"choices": [{"finish_reason": "error", "error": {"message": "boom", "code": 429}}]}),
            "rate_limit_exceeded",
        ),
        (DONE, "upstream_empty"),
    ],
)
def test_faults_in_a_stream_are_failures_at_any_cut(stream: bytes, code: str) -> None:
    for _, pieces in splits(stream):
        assert failure_of(pieces) == code
    if stream != DONE:
        assert failure_of([chunk(content="hi") + stream]) == code


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b'[{"error": {"code": 503, "message": "The model is overloaded"}}]', "upstream_overloaded", "overloaded"),
        (b'{"code": 401, "msg": "token expired or incorrect", "success": false}', "upstream_auth", "token expired"),
        (
            b'{"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}',
            "insufficient_quota",
            "balance",
        ),
        (b"[]", "upstream_invalid_response", "no chat completion"),
    ],
)
def test_a_whole_answer_may_be_an_error_too_and_says_what_it_is(body: bytes, code: str, said: str) -> None:
    with pytest.raises(Failure, match=said) as caught:
        decoder().decode_whole(body)
    assert caught.value.code == code


def test_done_without_a_finish_reason_is_an_early_end() -> None:
    assert failure_of([chunk(content="hi") + DONE]) == "upstream_closed"


def test_a_web_page_is_named_as_one() -> None:
    with pytest.raises(Failure, match=r"HTML page; check the provider's base_url"):
        decoder().decode_whole(b"<html><body>login</body></html>")


@pytest.mark.parametrize(
    ("holder", "error"),
    [
        ({"error": {"message": "x"}}, {"message": "x"}),
        ({"error": {"error": {"message": "x"}}}, {"message": "x"}),
        ({"error": "x"}, "x"),
        ({"message": "x"}, {"message": "x"}),
        ({"error": 3}, {"error": 3}),
        (None, None),
    ],
)
def test_the_error_is_found_inside_its_wrappers(holder: object, error: object) -> None:
    assert inner_error(holder) == error


def test_bytes_that_are_no_json_are_never_quoted() -> None:
    assert "secret" not in not_json(b"secret").message
    assert "secret" not in not_json(b"<html>secret").message
