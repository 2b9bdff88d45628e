"""What is kept of requests and attempts, on every store: whole, summed, found by either id, removed by age and size."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_proxy.store import usage as module
from agentic_proxy.store.shared import SqlStore
from agentic_proxy.usage.base import Asked, RequestRecord, Spent, Story, Sums, UsageRecord, Way
from support.stored import NOW, turn

Opener = Any
ROUTE = (
    Way("a", "m", "key 1 of 2", "session"),
    Way("b", "m", "", "cooling", "upstream_error", NOW + 60.5),
    Way("c", "m\ufffd", "", "window", window=100, tokens=200),
)
HOUR = NOW // 900 * 900
"""A time at which a quarter of an hour begins."""


def request(name: str = "1", **changes: Any) -> RequestRecord:
    made = RequestRecord(
        HOUR, f"req_{name}", f"resp_{name}", "responses", "http", "codex", "house/m", "a", "m", 200, "completed", None,
        1.5, ROUTE,
    )  # fmt: skip
    return made._replace(**changes)


def attempt(name: str = "1", **changes: Any) -> UsageRecord:
    made = UsageRecord(
        HOUR, f"resp_{name}", "responses", "house/m", "a", "m", 1.25, None, 100, 60, 20, 5,
        ("note", "other_note"), ("fence",), ("drop:temperature",), f"req_{name}", "codex", "openai", "key 1 of 2",
        1, 0, 0.5, 7,
    )  # fmt: skip
    return made._replace(**changes)


async def test_everything_of_a_record_comes_back_in_the_order_of_the_attempts(store: SqlStore) -> None:
    second = attempt(number=2, retry=1, first_event=None, code="upstream_closed", notes=(), repairs=(), lessons=())
    await store.keep_usage([request(), request("2", code="model_not_found")], [second, attempt()])
    expected = Story(request(), [attempt(), second])
    assert await store.story("req_1") == expected
    assert await store.story("resp_1") == expected
    assert await store.story("req_2") == (request("2", code="model_not_found"), [])
    assert await store.story("req_3") is None


async def test_a_request_that_still_runs_has_a_story_without_an_end(store: SqlStore) -> None:
    await store.keep_usage([], [attempt()])
    assert await store.story("req_1") == (None, [attempt()])


async def test_requests_without_a_response_are_not_found_by_an_empty_id(store: SqlStore) -> None:
    await store.keep_usage([request(response_id="")], [])
    assert await store.story("resp_1") is await store.story("") is None
    assert (await store.story("req_1") or Story(None, [])).request == request(response_id="")


async def test_names_that_no_database_takes_are_kept_as_far_as_they_can_be_read(store: SqlStore) -> None:
    asked = request(model="m\ud800", route=(Way("c", "m\ud800"),))
    await store.keep_usage([asked], [attempt(model="m\ud800", upstream_model="u\ud800")])
    story = await store.story("req_1")
    assert story is not None and story.request is not None
    assert (story.request.model, story.request.route) == ("m\ufffd", (Way("c", "m\ufffd"),))
    assert (story.attempts[0].model, story.attempts[0].upstream_model) == ("m\ufffd", "u\ufffd")


async def test_sums_keep_apart_what_is_asked_for_later(store: SqlStore) -> None:
    await store.keep_usage(
        [
            request(),
            request("2", at=HOUR + 899),
            request("3", at=HOUR + 900),
            request("4", client="other"),
            request("5", provider="", upstream_model="", code="model_not_found", model="nothing"),
            request("6", at=HOUR - 1),
        ],
        [
            attempt(),
            attempt("2", at=HOUR + 899, code="upstream_error"),
            attempt("3", code="client_gone"),
            attempt("4", at=HOUR + 900, code="response_cancelled", input_tokens=200_000),
            attempt("5", at=HOUR + 900, input_tokens=200_001),
            attempt("6", at=HOUR + 900, input_tokens=900_000),
            attempt("7", at=HOUR - 1),
        ],
    )
    asked, spent = await store.usage_since(HOUR)
    assert sorted(asked) == [
        Asked(HOUR, "codex", "", "nothing", 1),
        Asked(HOUR, "codex", "a", "m", 2),
        Asked(HOUR, "other", "a", "m", 1),
        Asked(HOUR + 900, "codex", "a", "m", 1),
    ]
    assert sorted(spent) == [
        Spent(HOUR, "codex", "a", "openai", "m", 0, 3, 1, 300, 180, 21, 60, 15),
        Spent(HOUR + 900, "codex", "a", "openai", "m", 0, 1, 0, 200_000, 60, 7, 20, 5),
        Spent(HOUR + 900, "codex", "a", "openai", "m", 200_000, 1, 0, 200_001, 60, 7, 20, 5),
        Spent(HOUR + 900, "codex", "a", "openai", "m", 512_000, 1, 0, 900_000, 60, 7, 20, 5),
    ]
    assert all(isinstance(value, int | str) for row in (*asked, *spent) for value in row)


async def test_age_removes_records_as_it_does_responses(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 2)
    old, new = [str(n) for n in range(7)], ["a", "b"]
    requests = [request(n, at=NOW - 9) for n in old] + [request(n, at=NOW) for n in new]
    attempts = [attempt(n, at=NOW - 9) for n in old] + [attempt(n, at=NOW) for n in new]
    await store.keep_usage(requests, attempts)
    assert await store.prune(NOW, 1 << 40) == 0
    assert await store.usage_since(0) == Sums(
        [Asked(HOUR, "codex", "a", "m", 2)], [Spent(HOUR, "codex", "a", "openai", "m", 0, 2, 0, 200, 120, 14, 40, 10)]
    )
    assert await store.story("req_0") is None


async def test_size_removes_records_when_nothing_else_is_left(store: SqlStore) -> None:
    await store.keep_usage([request()], [attempt()])
    await store.commit(turn("a", created_at=NOW))
    await store.prune(0, 1 << 40)
    assert await store.story("req_1") is not None
    assert await store.prune(0, 0) == 1
    assert await store.usage_since(0) == Sums([], [])


async def test_several_proxies_keep_records_in_one_database(opener: Opener) -> None:
    stores = [await opener() for _ in range(3)]
    await asyncio.gather(
        *(
            store.keep_usage([request(f"{place}{n}")], [attempt(f"{place}{n}")])
            for place, store in enumerate(stores)
            for n in range(10)
        )
    )
    asked, spent = await stores[0].usage_since(0)
    assert (asked[0].requests, spent[0].attempts) == (30, 30)
