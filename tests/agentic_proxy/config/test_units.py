"""Durations and sizes."""

from __future__ import annotations

import math

import pytest

from agentic_proxy.config.units import parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("500ms", 0.5),
        ("1.5m", 90.0),
        ("1h", 3600.0),
        ("30d", 2_592_000.0),
        (" 2 s ", 2.0),
        ("7", 7.0),
        (7, 7.0),
        (0.25, 0.25),
    ],
)
def test_a_duration_is_a_number_of_seconds(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "10 parsecs", "-1s", "1h30m", "10S", "٣s", "0s", 0, -1, math.inf, math.nan])
def test_anything_else_is_no_duration(text: str | float) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_duration(text)


def test_zero_is_a_duration_only_where_it_is_allowed() -> None:
    assert parse_duration("0s", zero=True) == 0.0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MiB", 64 << 20),
        ("2GiB", 2 << 30),
        ("256KiB", 256 << 10),
        ("1TiB", 1 << 40),
        ("1.5kib", 1536),
        ("64MB", 64_000_000),
        ("1kB", 1000),
        ("12B", 12),
        ("12", 12),
        (1, 1),
    ],
)
def test_a_size_is_a_number_of_bytes(text: str | float, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "64M", "64 megabytes", "-1", "0", 0, 0.5, -1, math.inf, math.nan])
def test_anything_else_is_no_size(text: str | float) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_size(text)
