"""Affinity: a session stays with the candidate that served it, so that the provider's prompt cache is of use.

The first choice of a session is its home. When the home fails, whoever takes over keeps the session; with ``returns``
it goes home once the home has recovered.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple, TypeAlias

from agentic_proxy.routing.candidates import Candidate

Name: TypeAlias = tuple[str, str, int]
SESSIONS_KEPT: Final = 10_000


class Seat(NamedTuple):
    """Where a session sits until that time."""

    home: Name
    served: Name
    until: float


Seats: TypeAlias = OrderedDict[str, Seat]
"""By session."""


class Affinity:
    """Where sessions sit; ``seconds`` 0 remembers nothing. ``now`` is any clock in seconds that only goes forward.
    ``seats`` are those that another one has known so far, and go on being shared with it."""

    def __init__(self, seconds: float, *, returns: bool, seats: Seats | None = None) -> None:
        self._seconds = seconds
        self._returns = returns
        self._seats: Seats = seats if seats is not None and seconds else OrderedDict()

    def knows(self, session: str, now: float) -> bool:
        """Whether the session has a candidate of its own."""
        seat = self._seats.get(session)
        return seat is not None and seat.until > now

    def order(self, session: str, candidates: list[Candidate], now: float) -> list[Candidate]:
        """The candidates with the session's own first."""
        seat = self._seats.get(session)
        if seat is None or seat.until <= now:
            return candidates
        own = (seat.home, seat.served) if self._returns else (seat.served,)
        return sorted(candidates, key=lambda each: own.index(each.name) if each.name in own else len(own))

    def note(self, session: str, first: Candidate, served: Candidate, now: float) -> None:
        """A turn of the session was served; ``first`` was its first choice, whether or not it was asked."""
        if not self._seconds:
            return
        seat = self._seats.get(session)
        home = seat.home if seat is not None and seat.until > now and self._returns else first.name
        self._seats[session] = Seat(home, served.name, now + self._seconds)
        self._seats.move_to_end(session)
        if len(self._seats) > SESSIONS_KEPT:
            self._seats.popitem(last=False)
