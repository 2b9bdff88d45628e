"""A session stays with who served it and goes home when its first choice has recovered."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from agentic_proxy.config.model import Provider
from agentic_proxy.routing import affinity
from agentic_proxy.routing.affinity import Affinity
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target

A, B, C = (Candidate(Target(Provider(name, "openai", "u"), None, "m"), 0) for name in "abc")
ALL = [A, B, C]


def test_a_session_stays_with_the_candidate_that_served_it() -> None:
    seats = Affinity(60.0, returns=True)
    seats.note("s", B, B, 0.0)
    assert seats.order("s", ALL, 59.0) == [B, A, C]
    assert seats.order("other", ALL, 59.0) == ALL
    assert (seats.knows("s", 59.0), seats.knows("other", 59.0)) == (True, False)


def test_it_is_forgotten_after_its_time_and_every_turn_renews_it() -> None:
    seats = Affinity(60.0, returns=True)
    seats.note("s", B, B, 0.0)
    assert seats.order("s", ALL, 60.0) == ALL
    seats.note("s", B, B, 50.0)
    assert seats.order("s", ALL, 109.0) == [B, A, C]


@pytest.mark.parametrize(("returns", "order"), [(True, [A, C, B]), (False, [C, A, B])])
def test_after_a_failover_the_first_choice_comes_first_again_or_not(returns: bool, order: list[Candidate]) -> None:
    seats = Affinity(60.0, returns=returns)
    seats.note("s", A, A, 0.0)
    seats.note("s", A, C, 1.0)
    seats.note("s", C, C, 2.0)
    assert seats.order("s", ALL, 3.0) == order


def test_a_session_that_began_while_its_first_choice_was_out_goes_home_too() -> None:
    seats = Affinity(60.0, returns=True)
    seats.note("s", A, B, 0.0)
    assert seats.order("s", ALL, 1.0) == [A, B, C]


def test_zero_seconds_remember_nothing() -> None:
    seats = Affinity(0.0, returns=True)
    seats.note("s", B, B, 0.0)
    assert seats.order("s", ALL, 0.0) == ALL


def test_the_least_recent_session_goes_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affinity, "SESSIONS_KEPT", 2)
    seats = Affinity(60.0, returns=True)
    for session in ("one", "two", "one", "three"):
        seats.note(session, B, B, 0.0)
    assert [seats.knows(session, 1.0) for session in ("one", "two", "three")] == [True, False, True]


def test_sessions_keep_their_place_under_other_settings_unless_these_say_that_they_have_none() -> None:
    shared: affinity.Seats = OrderedDict()
    before = Affinity(60.0, returns=True, seats=shared)
    before.note("s", B, B, 0.0)
    after = Affinity(10.0, returns=True, seats=shared)
    assert after.order("s", ALL, 1.0) == [B, A, C]
    before.note("late", C, C, 1.0)
    assert after.order("late", ALL, 2.0) == [C, A, B]
    assert Affinity(0.0, returns=True, seats=shared).order("s", ALL, 1.0) == ALL
