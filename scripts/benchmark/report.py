"""What came out: medians, ratios, verdicts; as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from .peers import PIPE, PROXY
from .workloads import Workload


@dataclass(frozen=True, slots=True)
class Line:
    """The outcome of one workload: the figures of every round, by subject."""

    workload: Workload
    rounds: Mapping[str, Sequence[float]]
    notes: Mapping[str, str]
    """Why a peer has no figure."""

    def figure(self, name: str) -> float | None:
        """The median of a subject; None when it was not measured."""
        figures = self.rounds.get(name)
        return median(figures) if figures else None

    @property
    def proxy(self) -> float:
        return median(self.rounds[PROXY])

    @property
    def pipe(self) -> float:
        return median(self.rounds[PIPE])

    @property
    def target(self) -> float | None:
        return self.workload.target(self.pipe)

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None when there is none."""
        return None if self.target is None else self.proxy <= self.target

    def as_json(self) -> dict[str, Any]:
        """The line for ``--json``."""
        return {
            "title": self.workload.title,
            "unit": self.workload.unit,
            "proxy": self.proxy,
            "pipe": self.pipe,
            "ratio": self.proxy / self.pipe,
            "target": self.target,
            "met": self.met,
            "peers": {name: self.figure(name) for name in self.rounds if name not in (PROXY, PIPE)},
            "rounds": {name: list(figures) for name, figures in self.rounds.items()},
            "notes": dict(self.notes),
        }


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


VERDICT = {True: "yes", False: "NO", None: "-"}


def cells(line: Line, peer_names: Sequence[str]) -> list[str]:
    """A line of the table."""
    return [
        line.workload.letter,
        line.workload.title,
        line.workload.unit,
        number(line.proxy),
        number(line.pipe),
        f"{line.proxy / line.pipe:.1f}",
        number(line.target),
        VERDICT[line.met],
        *(number(line.figure(name)) for name in peer_names),
    ]


def table(lines: Sequence[Line], peer_names: Sequence[str]) -> str:
    """A plain table, one line a workload."""
    head = ["", "workload", "unit", PROXY, PIPE, "ratio", "target", "met", *peer_names]
    rows = [head, *(cells(line, peer_names) for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = 3  # columns of words; all further ones are figures, right-aligned
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < text else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
