"""How long to wait, from an error's own words, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest

from translators.waits import says_when, stated_wait, told_when


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("try again in 250ms", 0.25),
        ("Please try again in 7m12.5s. Visit", 432.5),
        ("try again in 1h2m3s", 3723.0),
        ("try again in 6m0s", 360.0),
        ("try again in 20 seconds", 20.0),
        ("Try again in 3 minutes", 180.0),
        ("Please retry after 12 sec", 12.0),
        ("Please retry in 17.300s.", 17.3),
        ("try again in 5", None),
        ("try again later", None),
        ("try again in " + "9" * 400 + "s", None),
    ],
)
def test_a_wait_is_read_from_words(message: str, seconds: float | None) -> None:
    assert stated_wait({}, message) == seconds


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"resets_in_seconds": 90}, 90.0),
        ({"resets_in_seconds": True}, None),
        ({"resets_in_seconds": "90"}, None),
        ({"details": [{"@type": "x"}, {"retryDelay": "17s"}]}, 17.0),
        ({"details": [{"retryDelay": "soon"}, 3]}, None),
        ({"details": "17s"}, None),
    ],
)
def test_a_wait_is_read_from_fields(error: dict[str, Any], seconds: float | None) -> None:
    assert stated_wait(error, "m") == seconds


@pytest.mark.parametrize(("given", "at"), [(1_800_000_000, 1.8e9), (0, None), ("1", None), (True, None), (None, None)])
def test_a_reset_is_a_point_in_time(given: object, at: float | None) -> None:
    assert says_when({"resets_at": given}) == at


@pytest.mark.parametrize(
    ("message", "wait", "told"),
    [
        ("Slow down.", 2.0, "Slow down. Please try again in 2s."),
        ("Slow down.", 1.25, "Slow down. Please try again in 1.25s."),
        ("Slow down.", 0.0, "Slow down. Please try again in 0.001s."),
        ("Slow down.", 1_209_600.5, "Slow down. Please try again in 1209600.5s."),
        ("Slow down.", 1e12, "Slow down. Please try again in 999999999s."),
        ("Please try again in 999999999s.", 1e12, "Please try again in 999999999s."),
        ("Slow down.", None, "Slow down."),
        ("Please try again in 500ms.", 2.0, "Please try again in 500ms."),
        ("Try again in 7m12s.", 432.0, "Try again in 7m12s. Please try again in 432s."),
    ],
)
def test_clients_are_told_in_the_form_that_they_obey(message: str, wait: float | None, told: str) -> None:
    assert told_when(message, wait) == told
