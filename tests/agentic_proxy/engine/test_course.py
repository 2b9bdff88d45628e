"""The order in which a round asks its candidates, and what is waited for."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.config.model import Config, Model, Provider, Retries, Routing, Strategy
from agentic_proxy.engine.course import MOST_WAITS, Course, Courses, session_of
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.outages import Outages
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target
from agentic_proxy.usage.base import Way
from translators.failure import Failure


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def candidate(name: str, **changes: Any) -> Candidate:
    model = Model("m", context_window=changes.pop("window", None))
    return Candidate(Target(Provider(name, "openai", f"http://{name}/v1", **changes), model, "m"), 0)


A, B, C = candidate("a"), candidate("b"), candidate("c")


def limited(seconds: float | None) -> Failure:
    return Failure("rate_limit_exceeded", f"wait {seconds}", retry_after=seconds)


def played(course: Course, clock: Clock, *failures: Failure | None) -> list[tuple[str, float]]:
    """The steps until one succeeds (None) or nobody is left; waiting makes the clock go on."""
    steps = []
    for failure in failures:
        step = course.next()
        if step is None:
            break
        clock.now += step.wait
        steps.append((step.candidate.target.provider.name, round(step.wait, 3)))
        if failure is None:
            break
        course.failed(step.candidate, failure)
    return steps


def made(outages: Outages, clock: Clock, *candidates: Candidate, max_wait: float = 20.0) -> Course:
    return Course(list(candidates), outages, max_wait, clock)


BROKEN = Failure("upstream_error", "broken")


def test_those_that_are_well_come_first_then_the_one_due_first() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    outages.failed(A, Failure("upstream_auth", "no"))
    outages.failed(B, BROKEN)
    course = made(outages, clock, A, B, C)
    assert played(course, clock, *[BROKEN] * 9) == [("c", 0), ("b", 0), ("a", 0)]
    assert course.failure() is BROKEN


@pytest.mark.requirement("P6")
async def test_a_cooldown_never_refuses_the_last_one() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    for failure in (Failure("upstream_auth", "no"), Failure("insufficient_quota", "gone"), limited(3600.0)):
        outages.failed(A, failure)
        assert played(made(outages, clock, A), clock, None) == [("a", 0)]


def test_except_before_a_stated_reset_of_its_quota() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    outages.failed(A, Failure("insufficient_quota", "gone", retry_after=3600.0))
    course = made(outages, clock, A)
    assert course.next() is None
    failure = course.failure()
    assert (failure.code, failure.retry_after) == ("insufficient_quota", 3600.0)
    assert failure.message == (
        "The quota of provider 'a' is used up; as it said itself, it comes back at 2027-01-15T09:00:00Z."
    )
    assert played(made(outages, clock, A, B), clock, BROKEN, BROKEN) == [("b", 0)]


def test_a_stated_wait_is_waited_for_when_nobody_else_is_left() -> None:
    clock = Clock()
    course = made(Outages(None, clock), clock, A, B)
    assert played(course, clock, limited(2.0), BROKEN, limited(1.0), None) == [("a", 0), ("b", 0), ("a", 2), ("a", 1)]


def test_the_one_that_is_due_first_is_waited_for() -> None:
    clock = Clock()
    course = made(Outages(None, clock), clock, A, B)
    assert played(course, clock, limited(9.0), limited(3.0), None) == [("a", 0), ("b", 0), ("b", 3)]


def test_waits_stay_below_the_limit_together() -> None:
    clock = Clock()
    course = made(Outages(None, clock), clock, A, max_wait=5.0)
    assert played(course, clock, *[limited(2.0)] * 9) == [("a", 0), ("a", 2), ("a", 2)]
    assert made(Outages(None, clock), clock, A, max_wait=0.0).next() is not None


def test_a_longer_wait_is_not_begun_and_the_client_is_told() -> None:
    clock = Clock()
    course = made(Outages(None, clock), clock, A, B)
    first, second = limited(30.0), limited(90.0)
    assert played(course, clock, first, second, None) == [("a", 0), ("b", 0)]
    assert course.failure() is first, "the client is told of the limit that ends first"


def test_an_upstream_that_says_zero_seconds_is_not_asked_for_ever() -> None:
    clock = Clock()
    course = made(Outages(None, clock), clock, A)
    assert len(played(course, clock, *[limited(0.0)] * 99)) == MOST_WAITS + 1


def test_a_stated_wait_that_another_turn_learnt_is_kept_before_the_first_request() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    outages.failed(A, limited(4.0))
    clock.now += 1
    assert played(made(outages, clock, A), clock, None) == [("a", 3)]


def test_a_rate_limit_without_a_wait_fails_at_once_and_gets_one_for_the_client() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    waits = []
    for _ in range(3):
        failure = limited(None)
        assert played(made(outages, clock, A), clock, failure) == [("a", 0)]
        waits.append(failure.retry_after)
    assert waits == [1.0, 2.0, 4.0]


class FakeTurn:
    def __init__(self, session: str | None = None, **body: Any) -> None:
        self.request = TurnRequest("responses", {"model": "m", **body}, False, session=session)
        self.body = self.request.body
        self.served: Candidate | None = None
        self.opened = OpenRequest(None, "responses")


def served_by(courses: Courses, targets: list[Target], turn: Any) -> str:
    course = courses.begin(turn, targets)
    step = course.next()
    assert step is not None
    courses.worked(turn, course, step.candidate)
    return step.candidate.target.provider.name


def courses_of(outages: Outages, clock: Clock, strategy: Strategy = "fill-first", **routing: Any) -> Courses:
    return Courses(Config(retries=Retries(), routing=Routing(strategy=strategy, **routing)), outages, clock)


TARGETS = [A.target, B.target]


@pytest.mark.parametrize(("returns", "then"), [(True, "a"), (False, "b")])
async def test_a_session_survives_a_failover_and_goes_home_when_its_first_choice_recovers(
    returns: bool, then: str
) -> None:
    clock = Clock()
    outages = Outages(None, clock)
    courses = courses_of(outages, clock, returns=returns)
    assert served_by(courses, TARGETS, FakeTurn("s")) == "a"
    outages.failed(A, BROKEN)
    assert [served_by(courses, TARGETS, FakeTurn("s")) for _ in range(2)] == ["b", "b"]
    clock.now += 61
    assert served_by(courses, TARGETS, FakeTurn("s")) == then
    assert served_by(courses, TARGETS, FakeTurn("another")) == "a"


async def test_sessions_keep_their_candidate_while_others_rotate() -> None:
    clock = Clock()
    courses = courses_of(Outages(None, clock), clock, "round-robin")
    assert [served_by(courses, TARGETS, FakeTurn(name)) for name in "xyxyz"] == ["a", "b", "a", "b", "a"]
    assert [served_by(courses, TARGETS, FakeTurn()) for _ in range(4)] == ["b", "a", "b", "a"]


async def test_later_rounds_of_a_turn_stay_where_the_first_one_was_answered() -> None:
    clock = Clock()
    courses = courses_of(Outages(None, clock), clock, "round-robin")
    turn = FakeTurn()
    assert [served_by(courses, TARGETS, turn) for _ in range(3)] == ["a", "a", "a"]


async def test_a_context_window_that_is_too_small_is_passed_over() -> None:
    clock = Clock()
    courses = courses_of(Outages(None, clock), clock)
    targets = [candidate("small", window=1000).target, candidate("large", window=9000).target]
    assert served_by(courses, targets, FakeTurn(input="x" * 400)) == "small"
    assert served_by(courses, targets, FakeTurn(input="x" * 8000)) == "large"
    assert served_by(courses, targets, FakeTurn(input="x" * 80000)) == "small"


async def test_the_route_tells_every_candidate_and_what_put_it_there() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    courses = courses_of(outages, clock)
    quota = Failure("insufficient_quota", "used up", retry_after=3600.0)
    others = [candidate(name) for name in ("late", "soon", "gone")]
    outages.failed(others[0], Failure("upstream_auth", "no"))
    outages.failed(others[1], BROKEN)
    outages.failed(others[2], quota)
    small = candidate("small", window=100)
    targets = [each.target for each in (others[2], others[0], others[1], small, A, B)]
    turn = FakeTurn("s", input="x" * 4000)
    assert served_by(courses, targets, turn) == "a"
    now, tokens = clock.now, turn.opened.route[-1].tokens
    assert turn.opened.route == (
        Way("a", "m"),
        Way("b", "m"),
        Way("soon", "m", "", "cooling", "upstream_error", now + 60),
        Way("late", "m", "", "cooling", "upstream_auth", now + 1800),
        Way("gone", "m", "", "closed", "insufficient_quota", now + 3600),
        Way("small", "m", "", "window", window=100, tokens=tokens),
    )
    assert tokens > 100


async def test_the_route_tells_that_a_session_stays_where_it_was_served() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    courses = courses_of(outages, clock)
    assert served_by(courses, TARGETS, FakeTurn("s")) == "a"
    outages.failed(A, BROKEN)
    later = FakeTurn("s")
    assert served_by(courses, TARGETS, later) == "b"
    assert [(way.provider, way.why) for way in later.opened.route] == [("b", ""), ("a", "cooling")]
    clock.now += 61
    back = FakeTurn("s")
    served_by(courses, TARGETS, back)
    assert [(way.provider, way.why) for way in back.opened.route] == [("a", "session"), ("b", "")]


async def test_the_route_of_a_request_is_that_of_its_first_round() -> None:
    clock = Clock()
    outages = Outages(None, clock)
    courses, turn = courses_of(outages, clock), FakeTurn()
    served_by(courses, TARGETS, turn)
    before = turn.opened.route
    outages.failed(A, BROKEN)
    assert served_by(courses, TARGETS, turn) == "b"
    assert turn.opened.route is before and [way.why for way in before] == ["", ""]


@pytest.mark.parametrize(
    ("turn", "session"),
    [
        (FakeTurn(), None),
        (FakeTurn("header"), "m\0header"),
        (FakeTurn("header", prompt_cache_key="key"), "m\0key"),
        (FakeTurn(conversation="conv_1"), "m\0conv_1"),
        (FakeTurn(conversation={"id": "conv_1"}), "m\0conv_1"),
        (FakeTurn(prompt_cache_key=7), None),
    ],
)
def test_a_session_is_known_by_its_cache_key_its_header_or_its_conversation(turn: Any, session: str | None) -> None:
    assert session_of(turn) == session
