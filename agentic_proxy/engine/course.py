"""Course: the order in which one round asks its candidates, and when it asks one again.

Candidates that are well come first, then those that cool down, the one due first before the others: a cooldown orders,
it does not refuse, except where a provider said when a quota comes back. When nobody is left, one that said how long to
wait is waited for, as long as the waits stay below ``retries.max_wait`` together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from agentic_proxy.engine.outages import Outages, clock_time
from agentic_proxy.routing.affinity import Affinity, Seats
from agentic_proxy.routing.candidates import Candidate, Rotation, expand, fitting
from agentic_proxy.routing.cooldown import Cooling
from agentic_proxy.routing.models import Target
from agentic_proxy.usage.base import Reason, Way
from translators.failure import Failure
from translators.responses.tokens import estimate

if TYPE_CHECKING:
    from agentic_proxy.config.model import Config
    from agentic_proxy.engine.turn import Turn

MOST_WAITS: Final = 20
"""How often a round waits at all: upstreams may say 0 seconds."""


class Step(NamedTuple):
    """Ask ``candidate`` after ``wait`` seconds."""

    candidate: Candidate
    wait: float


class Course:
    """The steps of one round. ``candidates`` in the order of preference, at least one; ``now`` gives Unix seconds."""

    def __init__(
        self, candidates: list[Candidate], outages: Outages, max_wait: float, now: Callable[[], float]
    ) -> None:
        self.first = candidates[0]
        self._outages = outages
        self._left = max_wait
        self._now = now
        self._waits = 0
        coolings = [(each, outages.of(each)) for each in candidates]
        self._well = [each for each, cooling in coolings if cooling is None]
        self._cooling = [(each, cooling) for each, cooling in coolings if cooling is not None and not cooling.closed]
        self._closed = [(each, cooling) for each, cooling in coolings if cooling is not None and cooling.closed]
        self._resting: list[tuple[Candidate, Cooling]] = []
        self._failure: Failure | None = None
        self._failures: dict[tuple[str, str, int], Failure] = {}

    def next(self) -> Step | None:
        """Whom to ask now; None when there is nobody left."""
        if self._well:
            return Step(self._well.pop(0), 0.0)
        due = sorted([*self._cooling, *self._resting], key=lambda each: each[1].until)
        for candidate, cooling in due:
            wait = max(0.0, cooling.until - self._now()) if cooling.waits else 0.0
            untried = (candidate, cooling) in self._cooling
            if wait > self._left or self._waits >= MOST_WAITS:
                if not untried:
                    continue
                wait = 0.0
            (self._cooling if untried else self._resting).remove((candidate, cooling))
            self._left -= wait
            self._waits += wait > 0 or not untried
            return Step(candidate, wait)
        return None

    def failed(self, candidate: Candidate, failure: Failure) -> None:
        """The step failed, and another may follow."""
        self._failure = self._failures[candidate.name] = failure
        cooling = self._outages.failed(candidate, failure)
        if cooling is None:
            return
        if cooling.waits:
            self._resting.append((candidate, cooling))
        elif failure.code == "rate_limit_exceeded":
            # Codex 0.171.0 stops for good at a 429 without Retry-After.
            failure.retry_after = cooling.until - cooling.at

    def route(self, *, seated: bool) -> tuple[Way, ...]:
        """The candidates as they stand before anybody was asked, with what put them there. ``seated``: the first one
        served the session before."""
        ways = [_way(each) for each in self._well]
        if seated and self._well and self._well[0] is self.first:
            ways[0] = ways[0]._replace(why="session")
        due = sorted(self._cooling, key=lambda each: each[1].until)
        ways += [_resting(each, "cooling") for each in due]
        return (*ways, *(_resting(each, "closed") for each in self._closed))

    def failure(self) -> Failure:
        """Why nobody answered: the last reason; of rate limits that of the one that is due first."""
        if self._failure is not None and self._failure.code == "rate_limit_exceeded" and self._resting:
            return self._failures[min(self._resting, key=lambda each: each[1].until)[0].name]
        if self._failure is not None:
            return self._failure
        candidate, cooling = min(self._closed, key=lambda each: each[1].until)
        text = (
            f"The quota of provider {candidate.target.provider.name!r} is used up; as it said itself, "
            f"it comes back at {clock_time(cooling.until)}."
        )
        return Failure("insufficient_quota", text, retry_after=max(0.0, cooling.until - self._now()))


def _way(candidate: Candidate) -> Way:
    return Way(candidate.target.provider.name, candidate.target.upstream_model, candidate.key)


def _resting(place: tuple[Candidate, Cooling], why: Reason) -> Way:
    candidate, cooling = place
    return _way(candidate)._replace(why=why, code=cooling.code, until=cooling.until)


def _too_small(candidate: Candidate, tokens: int) -> Way:
    model = candidate.target.model
    window = model.context_window if model else None
    return _way(candidate)._replace(why="window", window=window or 0, tokens=tokens)


class Courses:
    """Makes the courses of all turns; knows whose turn it is and where sessions sit (``seats``, if they are kept
    elsewhere)."""

    def __init__(self, config: Config, outages: Outages, now: Callable[[], float], seats: Seats | None = None) -> None:
        routing = config.routing
        self._rotation = Rotation(routing.strategy)
        self._affinity = Affinity(routing.affinity, returns=routing.returns, seats=seats)
        self._outages = outages
        self._max_wait = config.retries.max_wait
        self._now = now

    def begin(self, turn: Turn, targets: list[Target]) -> Course:
        """The course of a turn's next round."""
        self._outages.refresh()
        size = cache(lambda: estimate(turn.body))
        whole = expand(targets)
        candidates, seated = fitting(whole, size), False
        if len(candidates) > 1:
            candidates, seated = self._ordered(turn, candidates)
        course = Course(candidates, self._outages, self._max_wait, self._now)
        if not turn.opened.route:
            route = course.route(seated=seated)
            if len(candidates) < len(whole):
                route += tuple(_too_small(each, size()) for each in whole if each not in candidates)
            turn.opened.route = route
        return course

    def worked(self, turn: Turn, course: Course, served: Candidate) -> None:
        """A round was answered."""
        self._outages.worked(served)
        turn.served = served
        session = session_of(turn)
        if session is not None:
            self._affinity.note(session, course.first, served, self._now())

    def _ordered(self, turn: Turn, candidates: list[Candidate]) -> tuple[list[Candidate], bool]:
        """The order of preference, and whether the session's own place decided it."""
        now, session = self._now(), session_of(turn)
        if turn.served is not None:
            own = turn.served.name
            return sorted(candidates, key=lambda each: each.name != own), False
        if session is None or not self._affinity.knows(session, now):
            return self._rotation.order(candidates), False
        # Whoever has a place of its own takes no turn in the rotation.
        return self._affinity.order(session, candidates, now), True


def session_of(turn: Turn) -> str | None:
    """What tells that turns belong together, for one model name; None when nothing does."""
    body = turn.request.body
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    for given in (body.get("prompt_cache_key"), turn.request.session, conversation):
        if isinstance(given, str) and given:
            return f"{body.get('model')}\0{given[:256]}"
    return None
