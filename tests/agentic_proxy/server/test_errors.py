"""Failure -> status and headers."""

from __future__ import annotations

import pytest

from agentic_proxy.server.errors import failure_response, may_retry, request_id
from translators.failure import ROWS, Failure

NO_RETRY_ON_A_RETRIED_STATUS = {"insufficient_quota", "upstream_too_large"}


@pytest.mark.parametrize("code", ROWS)
def test_every_failure_has_its_status_and_tells_sdks_when_a_retry_is_useless(code: str) -> None:
    response = failure_response(Failure(code, "text"), "req_1")
    retried_by_sdks = response.status in (408, 409, 429) or response.status >= 500
    useless = response.headers.get("x-should-retry") == "false"
    assert response.status == ROWS[code].status
    assert useless is not may_retry(Failure(code, "text"))
    assert retried_by_sdks is not useless or code in NO_RETRY_ON_A_RETRIED_STATUS
    assert response.headers["x-request-id"] == "req_1"
    assert response.content_type == "application/json"


@pytest.mark.parametrize(("seconds", "header"), [(None, None), (0.0, "1"), (0.2, "1"), (1.0, "1"), (7.01, "8")])
def test_a_wait_is_whole_seconds_rounded_up(seconds: float | None, header: str | None) -> None:
    failure = Failure("rate_limit_exceeded", "text", retry_after=seconds)
    assert failure_response(failure, "req_1").headers.get("Retry-After") == header


def test_only_a_missing_client_key_asks_for_one() -> None:
    assert failure_response(Failure("invalid_api_key", "x"), "r").headers["WWW-Authenticate"] == "Bearer"
    assert "WWW-Authenticate" not in failure_response(Failure("upstream_auth", "x"), "r").headers


def test_request_ids_differ() -> None:
    assert len({request_id() for _ in range(100)}) == 100
