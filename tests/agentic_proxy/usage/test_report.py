"""Sums by day, model, client and provider; what they cost, and what nobody knows the price of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from agentic_proxy.config.model import Price
from agentic_proxy.usage.base import Asked, Spent, Sums
from agentic_proxy.usage.prices import Prices
from agentic_proxy.usage.report import DIMENSIONS, Report, report

NOON = 1_795_953_600
"""12:00 UTC of 29 November 2026."""
ASKED = [
    Asked(NOON, "codex", "a", "m", 2),
    Asked(NOON, "other", "b", "n", 1),
    Asked(NOON, "codex", "", "nothing", 1),
    Asked(NOON + 43_200, "codex", "a", "m", 4),
]
SPENT = [
    Spent(NOON, "codex", "a", "openai", "m", 0, 3, 1, 1_000_000, 400_000, 0, 100_000, 10),
    Spent(NOON, "codex", "a", "openai", "m", 200_000, 1, 0, 300_000, 0, 0, 1, 0),
    Spent(NOON, "other", "b", "openai-compatible", "n", 0, 1, 0, 7, 0, 0, 5, 0),
    Spent(NOON, "other", "c", "openai-compatible", "n", 0, 2, 2, 0, 0, 0, 0, 0),
    Spent(NOON + 43_200, "codex", "a", "openai", "m", 0, 4, 0, 0, 0, 0, 2_000_000, 0),
]
PRICES = Prices({"a/m": Price(1.0, 2.0, cached=0.5)}, {})


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def made(*by: str) -> Report:
    return report(Sums(ASKED, SPENT), by, PRICES)


def counts(found: Report) -> dict[tuple[str, ...], tuple[Any, ...]]:
    rows = found.rows.items()
    return {name: (row.requests, row.attempts, row.failed, round(row.cost, 6)) for name, row in rows}


def test_rows_are_kept_apart_by_what_was_asked_for_in_that_order() -> None:
    assert counts(made("day", "model")) == {
        ("2026-11-29", "m"): (2, 4, 1, 0.6 + 0.2 + 0.2 + 0.3 + 0.000002),
        ("2026-11-29", "n"): (1, 3, 2, 0.0),
        ("2026-11-29", "nothing"): (1, 0, 0, 0.0),
        ("2026-11-30", "m"): (4, 4, 0, 4.0),
    }
    assert list(counts(made("model", "day"))) == [
        ("m", "2026-11-29"),
        ("m", "2026-11-30"),
        ("n", "2026-11-29"),
        ("nothing", "2026-11-29"),
    ]
    assert [(name, row[:3]) for name, row in counts(made("provider")).items()] == [
        (("a",), (6, 8, 1)),
        (("b",), (1, 1, 0)),
        (("c",), (0, 2, 2)),
        (("none",), (1, 0, 0)),
    ]
    assert {name: row[0] for name, row in counts(made("client")).items()} == {("codex",): 7, ("other",): 1}


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_total_is_the_sum_of_the_rows_whatever_they_are_apart_by(dimension: str) -> None:
    found = made(dimension)
    total, rows = found.total, list(found.rows.values())
    names = ("requests", "attempts", "failed", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    assert [getattr(total, name) for name in names] == [sum(getattr(row, name) for row in rows) for name in names]
    assert (total.requests, total.attempts, total.failed, total.reasoning_tokens) == (8, 11, 3, 10)
    assert total.cost == pytest.approx(sum(row.cost for row in rows))


def test_what_nobody_knows_the_price_of_is_named_if_it_took_tokens() -> None:
    found = made("model")
    assert found.total.unpriced == found.rows[("n",)].unpriced == {"b/n"}
    assert found.rows[("m",)].unpriced == set()
    assert found.sources == ("usage.prices",)


def test_a_day_is_one_of_this_machines_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")  # 5:45 before UTC
    time.tzset()
    early = NOON + 6 * 3600 + 900
    sums = Sums([Asked(early - 900, "codex", "a", "m", 1), Asked(early, "codex", "a", "m", 2)], [])
    found = report(sums, ("day",), PRICES)
    assert {name: row.requests for name, row in found.rows.items()} == {("2026-11-29",): 1, ("2026-11-30",): 2}


def test_nothing_makes_no_rows() -> None:
    assert report(Sums([], []), ("day",), PRICES).rows == {}
