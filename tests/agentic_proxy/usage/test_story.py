"""What became of a request, told in plain lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from agentic_proxy.usage.base import RequestRecord, Story, UsageRecord, Way
from agentic_proxy.usage.story import tell

AT = 1_795_953_600
"""12:00 UTC of 29 November 2026."""


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def request(**changes: Any) -> RequestRecord:
    made = RequestRecord(
        AT, "req_1", "resp_1", "responses", "http", "codex", "fast", "b", "m", 200, "completed", None, 2.5
    )
    return made._replace(**changes)


def attempt(**changes: Any) -> UsageRecord:
    made = UsageRecord(AT, "resp_1", "responses", "fast", "b", "m", 1.25, None, request_id="req_1", first_event=0.125)
    return made._replace(**changes)


def test_a_story_with_everything_in_it() -> None:
    route = (
        Way("a", "m", "key 1 of 2", "session"),
        Way("b", "m"),
        Way("c", "m", "", "cooling", "upstream_overloaded", AT + 60),
        Way("d", "m", "", "closed", "insufficient_quota", AT + 3600),
        Way("e", "m", "", "window", window=8000, tokens=12_345),
    )
    attempts = [
        attempt(number=1, provider="a", credential="key 1 of 2", code="upstream_closed", input_tokens=1000,
                cached_tokens=900, output_tokens=5, first_event=0.5, lessons=("drop:temperature", "no_images")),
        attempt(number=2, retry=1, input_tokens=1200, cached_tokens=1000, cache_write_tokens=100, output_tokens=50,
                reasoning_tokens=20, notes=("item_left_out", "item_left_out", "strict_left_out"),
                repairs=("fence", "drifted_name", "of_a_plugin")),
    ]  # fmt: skip
    assert list(tell(Story(request(route=route), attempts))) == [
        "Request req_1: 2026-11-29 12:00:00 UTC, codex over HTTP (responses) asked for fast.",
        "Response resp_1.",
        "Route:",
        "  1. a/m (key 1 of 2): first, because it served this session before",
        "  2. b/m",
        "  3. c/m: behind the others, because it rests until 2026-11-29 12:01:00 UTC "
        "(upstream_overloaded, the upstream was overloaded)",
        "  - d/m: not asked before 2026-11-29 13:00:00 UTC (insufficient_quota, the account's quota is used up)",
        "  - e/m: not asked, its context window of 8,000 tokens is below the estimated 12,345",
        "Attempt 1: a/m (key 1 of 2)",
        "  learned before: drop:temperature, a field that this upstream refuses was left out",
        "  learned before: no_images",
        "  first event after 0.50 s, failed after 1.25 s: upstream_closed, the upstream's answer broke off",
        "  tokens: 1,000 input (900 cached), 5 output (0 reasoning)",
        "Attempt 2 (retry 1): b/m",
        "  translated by rule: item_left_out, strict_left_out",
        "  first event after 0.12 s, completed after 1.25 s",
        "  tokens: 1,200 input (1,000 cached, 100 written to the cache), 50 output (20 reasoning)",
        "  repaired by rule: fence, a code fence around the patch",
        "  repaired by rule: drifted_name, the name of the tool was nearly right",
        "  repaired by rule: of_a_plugin",
        "End: completed after 2.50 s (HTTP 200).",
    ]


ENDS: dict[str, tuple[RequestRecord | None, list[str]]] = {
    "an unknown model": (
        request(status=404, outcome="failed", code="model_not_found"),
        [
            "Request req_1: 2026-11-29 12:00:00 UTC, codex over HTTP (responses) asked for fast.",
            "No upstream was asked.",
            "End: failed after 2.50 s (HTTP 404): model_not_found, no provider has a model of that name.",
        ],
    ),
    "a request that could not be read": (
        request(status=400, outcome="failed", code="invalid_request_error", model="", response_id=""),
        [
            "Request req_1: 2026-11-29 12:00:00 UTC, codex over HTTP (responses) named no model.",
            "No upstream was asked.",
            "End: failed after 2.50 s (HTTP 400): invalid_request_error, the request was not valid.",
        ],
    ),
    "a prepared continuation": (
        request(transport="websocket"),
        [
            "Request req_1: 2026-11-29 12:00:00 UTC, codex over WebSocket (responses) asked for fast.",
            "Response resp_1.",
            "No upstream was asked: the request only prepared a continuation.",
            "End: completed after 2.50 s (status 200).",
        ],
    ),
    "a request that runs": (None, ["No upstream was asked.", "End: it has not ended yet."]),
}


@pytest.mark.parametrize(("record", "lines"), ENDS.values(), ids=ENDS)
def test_a_story_without_an_attempt(record: RequestRecord | None, lines: list[str]) -> None:
    assert list(tell(Story(record, []))) == lines


@pytest.mark.parametrize(
    ("outcome", "code", "end"),
    [
        ("incomplete", None, "End: incomplete after 2.50 s (HTTP 200)."),
        ("cancelled", "client_gone", "End: ended by the client after 2.50 s (HTTP 200): client_gone, the client closed "
         "the connection."),
        ("failed", "a_code_of_tomorrow", "End: failed after 2.50 s (HTTP 200): a_code_of_tomorrow."),
    ],
)  # fmt: skip
def test_the_end_is_told_by_its_outcome(outcome: str, code: str | None, end: str) -> None:
    assert list(tell(Story(request(outcome=outcome, code=code), [attempt()])))[-1] == end


def test_an_attempt_that_the_client_ended_did_not_fail() -> None:
    lines = list(tell(Story(None, [attempt(code="client_gone")])))
    assert lines[1] == "  first event after 0.12 s, ended after 1.25 s: client_gone, the client closed the connection"


def test_an_attempt_without_an_event_and_without_tokens_says_so() -> None:
    lines = list(tell(Story(None, [attempt(first_event=None, code="upstream_unreachable")])))
    assert lines[1:] == [
        "  no event came, failed after 1.25 s: upstream_unreachable, the upstream could not be reached",
        "End: it has not ended yet.",
    ]
