"""Course: the order in which one round asks its candidates, and when it asks one again.

Candidates that are well come first, then those that cool down, the one due first before the others: a cooldown orders,
it does not refuse, except where a provider said when a quota comes back. When nobody is left, one that said how long to
wait is waited for, as long as the waits stay below ``retries.max_wait`` together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from agentic_proxy.engine.outages import Outages, clock_time
from agentic_proxy.routing.affinity import Affinity, Seats
from agentic_proxy.routing.candidates import Candidate, Rotation, expand, fitting
from agentic_proxy.routing.cooldown import Cooling
from agentic_proxy.routing.models import Target
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
        candidates = fitting(expand(targets), lambda: estimate(turn.body))
        if len(candidates) > 1:
            candidates = self._ordered(turn, candidates)
        return Course(candidates, self._outages, self._max_wait, self._now)

    def worked(self, turn: Turn, course: Course, served: Candidate) -> None:
        """A round was answered."""
        self._outages.worked(served)
        turn.served = served
        session = session_of(turn)
        if session is not None:
            self._affinity.note(session, course.first, served, self._now())

    def _ordered(self, turn: Turn, candidates: list[Candidate]) -> list[Candidate]:
        now, session = self._now(), session_of(turn)
        if turn.served is not None:
            own = turn.served.name
            return sorted(candidates, key=lambda each: each.name != own)
        if session is None or not self._affinity.knows(session, now):
            return self._rotation.order(candidates)
        # Whoever has a place of its own takes no turn in the rotation.
        return self._affinity.order(session, candidates, now)


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
