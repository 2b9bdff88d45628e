"""For how long a credential, or one model on it, is better not asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentic_proxy.routing.cooldown import EVERY_MODEL, FORGOTTEN, MODELS, RULES, Cooldowns, Cooling
from translators.failure import ROWS, Failure

NOW = 1_000_000.0


def fault(code: str, **changes: Any) -> Failure:
    return Failure(code, "m", **changes)


@pytest.mark.parametrize(
    ("failure", "seconds", "whole"),
    [
        (fault("upstream_auth", upstream_status=401), 1800, True),
        (fault("upstream_auth", upstream_status=403), 1800, False),
        (fault("insufficient_quota", upstream_status=402), 1800, True),
        (fault("insufficient_quota", retry_after=86400.0), 86400, True),
        (fault("insufficient_quota", retry_after=1e12), 31 * 86400, True),
        (fault("upstream_not_found"), 43200, False),
        (fault("rate_limit_exceeded"), 1, False),
        (fault("rate_limit_exceeded", retry_after=7.0), 7, False),
        (fault("rate_limit_exceeded", retry_after=7200.0), 7200, False),
        (fault("upstream_overloaded"), 60, False),
        (fault("upstream_overloaded", retry_after=5.0), 5, False),
        (fault("upstream_error"), 60, False),
        (fault("upstream_timeout"), 60, False),
        (fault("upstream_closed"), 60, False),
        (fault("upstream_unreachable"), 60, True),
    ],
)
def test_each_fault_of_availability_has_its_rest(failure: Failure, seconds: float, whole: bool) -> None:
    cooldowns = Cooldowns()
    cooling = cooldowns.fault("c", "m", failure, NOW)
    assert cooling is not None
    assert cooling == Cooling(NOW + seconds, failure.code, 1, NOW, failure.retry_after is not None)
    assert cooldowns.of("c", "m", NOW + seconds - 0.1) == cooling
    assert cooldowns.of("c", "m", NOW + seconds) is None
    assert (cooldowns.of("c", "other", NOW) is not None) is whole
    assert cooldowns.of("other", "m", NOW) is None


@pytest.mark.requirement("P7", "AP21")
@pytest.mark.parametrize("code", [row.code for row in ROWS.values() if not row.blames])
def test_a_fault_of_the_request_or_of_the_models_text_never_cools(code: str) -> None:
    cooldowns = Cooldowns()
    assert cooldowns.fault("c", "m", fault(code), NOW) is None
    assert (cooldowns.rows(NOW), cooldowns.content(NOW)) == ([], {})


def test_rate_limits_in_a_row_double_the_rest_up_to_half_an_hour() -> None:
    cooldowns = Cooldowns()
    rests = []
    for _ in range(14):
        cooling = cooldowns.fault("c", "m", fault("rate_limit_exceeded"), NOW)
        assert cooling is not None
        rests.append(cooling.until - NOW)
    assert rests == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800, 1800]


def test_success_ends_a_rest_and_the_row() -> None:
    cooldowns = Cooldowns()
    cooldowns.fault("c", "m", fault("rate_limit_exceeded"), NOW)
    cooldowns.fault("c", "m", fault("upstream_unreachable"), NOW)
    cooldowns.fault("c", "n", fault("upstream_error"), NOW)
    assert cooldowns.success("c", "m", NOW + 0.5) is True
    assert cooldowns.success("c", "m", NOW + 0.6) is False
    assert cooldowns.success("d", "m", NOW) is False
    assert cooldowns.of("c", "m", NOW + 0.7) is None
    assert [row.model for row in cooldowns.rows(NOW + 0.7)] == ["n"]
    again = cooldowns.fault("c", "m", fault("rate_limit_exceeded"), NOW + 1)
    assert again is not None
    assert again.strikes == 1


def test_only_a_quota_with_a_stated_reset_is_closed_and_other_stated_waits_are_waited_for() -> None:
    cases = {
        "closed": fault("insufficient_quota", retry_after=9.0),
        "unstated": fault("insufficient_quota"),
        "rate": fault("rate_limit_exceeded", retry_after=9.0),
    }
    made = {name: Cooldowns().fault("c", "m", failure, NOW) for name, failure in cases.items()}
    assert {name: (each.closed, each.waits) for name, each in made.items() if each} == {
        "closed": (True, False), "unstated": (False, False), "rate": (False, True),
    }  # fmt: skip


def test_the_longer_of_two_rests_counts_and_a_closed_account_before_any() -> None:
    cooldowns = Cooldowns()
    cooldowns.fault("c", "m", fault("upstream_not_found"), NOW)
    cooldowns.fault("c", "m", fault("insufficient_quota", retry_after=60.0), NOW)
    first, later = cooldowns.of("c", "m", NOW), cooldowns.of("c", "m", NOW + 61)
    assert first is not None and later is not None
    assert (first.code, later.code) == ("insufficient_quota", "upstream_not_found")


def test_two_processes_agree_on_what_is_newer() -> None:
    one, two = Cooldowns(), Cooldowns()
    one.fault("c", "m", fault("upstream_error"), NOW)
    two.merge(json.loads(json.dumps(one.content(NOW))), NOW)
    assert two.of("c", "m", NOW + 1) == one.of("c", "m", NOW + 1)
    two.success("c", "m", NOW + 2)
    one.merge(two.content(NOW + 2), NOW + 2)
    assert one.of("c", "m", NOW + 3) is None
    two.merge({"c": {"m": one.content(NOW)["c"]["m"] | {"at": NOW, "until": NOW + 99}}}, NOW + 2)
    assert two.of("c", "m", NOW + 3) is None


@pytest.mark.parametrize(
    "content",
    [
        {"c": 1},
        {"c": {"m": 1}},
        {"c": {"m": {}}},
        {"c": {"m": {"until": "x", "at": 1, "strikes": 1, "code": "upstream_error"}}},
        {"c": {"m": {"until": 9e9, "at": 1, "strikes": None}}},
    ],
)
def test_what_has_not_the_form_is_passed_over(content: dict[str, Any]) -> None:
    cooldowns = Cooldowns()
    cooldowns.merge(content, NOW)
    assert cooldowns.rows(NOW) == []


def test_what_was_noted_while_the_clock_was_ahead_says_nothing_once_it_is_set_back() -> None:
    ahead = NOW + 365 * 86400
    cooldowns, other = Cooldowns(), Cooldowns()
    cooldowns.fault("c", "m", fault("insufficient_quota", retry_after=60.0), ahead)
    left = cooldowns.content(ahead)
    other.merge(left, NOW)
    assert (cooldowns.of("c", "m", NOW), cooldowns.rows(NOW), other.rows(NOW)) == (None, [], [])
    assert cooldowns.content(NOW) == {}
    cooling = other.fault("c", "m", fault("upstream_error"), NOW)
    other.merge(left, NOW)
    assert other.of("c", "m", NOW) == cooling
    cooldowns.fault("c", "m", fault("upstream_error"), ahead)
    cooldowns.merge(other.content(NOW), NOW)
    assert cooldowns.of("c", "m", NOW) == cooling


def test_what_is_long_over_is_forgotten() -> None:
    cooldowns = Cooldowns()
    cooldowns.fault("c", "m", fault("upstream_error"), NOW)
    assert list(cooldowns.content(NOW + 60 + FORGOTTEN - 1)) == ["c"]
    assert cooldowns.content(NOW + 60 + FORGOTTEN) == {}


def test_of_too_many_models_the_oldest_are_forgotten_and_the_whole_credential_is_not() -> None:
    mine, theirs = Cooldowns(), Cooldowns()
    mine.fault("a", EVERY_MODEL, fault("upstream_unreachable"), NOW)
    for number in range(2 * MODELS):
        mine.fault("a", f"m{number}", fault("upstream_not_found"), NOW + 1 + number / 1000)
        theirs.fault("a", f"n{number}", fault("upstream_not_found"), NOW + 10 + number / 1000)
    newest = {f"m{number}" for number in range(MODELS + 1, 2 * MODELS)}
    assert {row.model for row in mine.rows(NOW + 4)} == {EVERY_MODEL, *newest}
    mine.merge(theirs.content(NOW + 20), NOW + 20)
    assert {row.model for row in mine.rows(NOW + 20)} == {
        EVERY_MODEL, *(f"n{number}" for number in range(MODELS + 1, 2 * MODELS))
    }  # fmt: skip


def test_the_rules_name_faults_of_availability_only() -> None:
    assert [code for code in RULES if not ROWS[code].blames] == []
