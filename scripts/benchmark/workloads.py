"""What is measured: the workloads and their targets.

The scenario rides in the model name (``bench-text-1000``), so it reaches the scripted upstream through any proxy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, TypeAlias

Wire: TypeAlias = Literal["responses", "chat", "messages"]


class Method(Enum):
    """How a workload is measured."""

    FLOOD = "flood"
    REQUESTS = "requests"
    FIRST_DELTA = "first delta"
    PACED = "paced"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything one round holds."""

    streams: int
    """Streams that are open at a time, in floods and paced."""
    deltas: int
    """Deltas of one text stream."""
    patch: int
    """Size of the patch in B, KiB of text."""
    requests: int
    """Requests in one round of J and of R."""
    concurrency: int
    """Requests of J and R that are under way at a time."""
    first_deltas: int
    """Requests to each subject in one round of T."""
    seconds: float
    """Length of one round of P."""


FULL = Size(streams=64, deltas=1000, patch=8, requests=1000, concurrency=32, first_deltas=150, seconds=2.0)
QUICK = Size(streams=16, deltas=200, patch=1, requests=150, concurrency=32, first_deltas=15, seconds=0.2)
WARM = replace(QUICK, first_deltas=3, seconds=0.1)
"""Before the rounds that count: code and connections that are used the first time cost more."""

PACE_MS = 20
"""Time between two events of a paced stream: 50 a second, about what a fast model writes."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the upstream plays: a text of ``size`` deltas, or an apply_patch call with a patch of ``size`` KiB."""

    kind: str
    size: int
    every_ms: int = 0

    @property
    def model(self) -> str:
        """The model name that asks for it."""
        return f"bench-{self.kind}-{self.size}" + (f"-every{self.every_ms}" if self.every_ms else "")


MODEL = re.compile(rb"bench-(text|patch)-(\d+)(?:-every(\d+))?")


def scenario_in(body: bytes) -> Scenario:
    """The scenario that a request asks for; a text of one delta when it names none."""
    found = MODEL.search(body)
    if found is None:
        return Scenario("text", 1)
    return Scenario(found[1].decode(), int(found[2]), int(found[3] or 0))


@dataclass(frozen=True, slots=True)
class Workload:
    """One line of the table. ``limit`` is in the line's unit, ``ratio`` a multiple of the pipe's figure."""

    letter: str
    title: str
    unit: str
    method: Method
    client: Wire
    upstream: Wire
    scenario: Callable[[Size], Scenario]
    stream: bool = True
    """Whether the client asks for a stream, with a request of an agent's size, or shortly for JSON."""
    limit: float | None = None
    ratio: float | None = None

    def target(self, pipe: float) -> float | None:
        """The highest figure that meets the target; None when there is none."""
        if self.ratio is not None:
            return self.ratio * pipe
        return self.limit


def text(size: Size) -> Scenario:
    return Scenario("text", size.deltas)


def patch(size: Size) -> Scenario:
    return Scenario("patch", size.patch)


def short(size: Size) -> Scenario:
    return Scenario("text", 4)


def paced(size: Size) -> Scenario:
    # Ten times as long as the round: it is cut off, and must not end while it is measured.
    return Scenario("text", int(size.seconds * 10 * 1000 / PACE_MS), PACE_MS)


_RR: tuple[Wire, Wire] = ("responses", "responses")
WORKLOADS = (
    Workload("A", "Responses -> Responses", "us/event", Method.FLOOD, *_RR, text, limit=3.5),
    Workload("B", "custom apply_patch restored", "us/event", Method.FLOOD, *_RR, patch, limit=7.0),
    Workload("C", "Responses -> Chat", "us/event", Method.FLOOD, "responses", "chat", text, limit=7.0),
    Workload("D", "Chat -> Chat", "us/event", Method.FLOOD, "chat", "chat", text, limit=3.5),
    Workload("E", "Messages -> Chat", "us/event", Method.FLOOD, "messages", "chat", text, limit=9.0),
    Workload("M", "Messages -> Messages", "us/event", Method.FLOOD, "messages", "messages", text, limit=3.5),
    Workload("J", "short JSON request", "ms/request", Method.REQUESTS, *_RR, short, stream=False, limit=0.2),
    Workload("K", "the same in Chat", "ms/request", Method.REQUESTS, "chat", "chat", short, stream=False, limit=0.2),
    Workload(
        *("N", "the same in Messages", "ms/request", Method.REQUESTS, "messages", "messages", short),
        stream=False,
        limit=0.2,
    ),
    Workload("R", "large request, short stream", "ms/request", Method.REQUESTS, *_RR, short),
    Workload("T", "added time to first delta", "ms", Method.FIRST_DELTA, *_RR, short, ratio=1.5),
    Workload("P", "paced Responses -> Responses", "us/event", Method.PACED, *_RR, paced),
)
