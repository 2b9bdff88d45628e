"""Runs the workloads in rounds, the subjects in turn, and prints the medians.

The load generator and the scripted upstream share one core, whatever is measured has the other to itself, and only one
subject is under load at a time. All but T is CPU time (user and system) of the subject's processes, so it holds
on a busy machine; T is time on the clock and wants a quiet one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import uvloop

from .load import check, first_deltas, flood, paced, requests
from .peers import PEER_LETTERS, PIPE, PROXY, Target, peers, pipe, proxy, scripted_upstream
from .processes import BenchError, cores, on_core
from .report import Line, table
from .script import answer_text, event_count
from .workloads import FULL, QUICK, WARM, WORKLOADS, Method, Size, Workload

OK, MISSED, FAILED, UNAVAILABLE = 0, 1, 70, 69


@dataclass(slots=True)
class Figures:
    """What has been measured of one workload so far."""

    rounds: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


async def measure(workload: Workload, direct: Target, targets: Sequence[Target], size: Size) -> dict[str, float]:
    """One round of a workload: a figure for every target. Raises BenchError when one fails."""
    subjects = [target.subject(workload, size) for target in targets]
    match workload.method:
        case Method.FIRST_DELTA:
            return await first_deltas(direct.subject(workload, size), subjects, size)
        case Method.FLOOD:
            events = event_count(workload.scenario(size), workload.upstream)
            return {subject.name: await flood(subject, size, events) for subject in subjects}
        case Method.REQUESTS:
            return {subject.name: await requests(subject, size, stream=workload.stream) for subject in subjects}
        case Method.PACED:
            return {subject.name: await paced(subject, size) for subject in subjects}


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that runs, and how much of it is asked for."""

    direct: Target
    targets: Sequence[Target]
    size: Size

    def able(self, workload: Workload) -> list[Target]:
        """The targets that can do the workload."""
        return [target for target in self.targets if workload.letter in target.letters]

    async def warm_up(self, workload: Workload, figures: Figures) -> list[Target]:
        """Ask every target once and check its answer; those that can be measured.

        A peer that fails is left out with a note. Raises BenchError when the proxy or the pipe fails.
        """
        fit = []
        for target in self.able(workload):
            try:
                if target.restores(workload) and workload.method is not Method.PACED:
                    await check(target.subject(workload, self.size), answer_text(workload.scenario(self.size)))
                await measure(workload, self.direct, [target], WARM)
            except BenchError as error:
                if target.name in (PROXY, PIPE):
                    raise
                figures.notes[target.name] = str(error)
            else:
                fit.append(target)
        return fit

    async def run(self, workloads: Sequence[Workload], rounds: int) -> list[Line]:
        """All workloads in turn, as often as there are rounds."""
        figures = {workload.letter: Figures() for workload in workloads}
        fit = {workload.letter: await self.warm_up(workload, figures[workload.letter]) for workload in workloads}
        for _ in range(rounds):
            for workload in workloads:
                found = await measure(workload, self.direct, fit[workload.letter], self.size)
                for name, figure in found.items():
                    figures[workload.letter].rounds.setdefault(name, []).append(figure)
        return [
            Line(workload, figures[workload.letter].rounds, figures[workload.letter].notes) for workload in workloads
        ]


def chosen(letters: str) -> list[Workload]:
    """The workloads of ``A,B`` in the order of the table. Raises ArgumentTypeError for a letter without workload."""
    asked = [letter.strip().upper() for letter in letters.split(",") if letter.strip()]
    known = [workload.letter for workload in WORKLOADS]
    unknown = [letter for letter in asked if letter not in known]
    if unknown or not asked:
        raise argparse.ArgumentTypeError(f"no workload {', '.join(unknown)!r}; there are {', '.join(known)}")
    return [workload for workload in WORKLOADS if workload.letter in asked]


def positive(value: str) -> int:
    """A count of at least one. Raises ArgumentTypeError otherwise."""
    if not value.isdecimal() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number of at least 1")
    return int(value)


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The command line, parsed."""
    listed = "\n".join(f"  {workload.letter}  {workload.title}, {workload.unit}" for workload in WORKLOADS)
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        allow_abbrev=False,  # the shell part looks for --peers itself
        description=f"{__doc__}\nWorkloads:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workloads", type=chosen, default=list(WORKLOADS), help="letters, e.g. A,B (default: all)")
    parser.add_argument("--rounds", type=positive, help="rounds to take the median of (default: 3; quick: 1)")
    parser.add_argument("--quick", action="store_true", help="little of everything: does it run, not how fast is it")
    parser.add_argument("--peers", action="store_true", help=f"measure {' and '.join(PEER_LETTERS)} beside it")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures of every round to a file")
    return parser.parse_args(argv)


def measured(options: argparse.Namespace, size: Size, rounds: int) -> list[Line]:
    """Start everything, run the workloads, stop everything."""
    load_core, proxy_core = cores()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentic-proxy-bench-")))
        stack.enter_context(on_core(load_core))
        upstream = stack.enter_context(scripted_upstream(folder, load_core))
        targets = [
            stack.enter_context(proxy(upstream.url, folder, proxy_core)),
            stack.enter_context(pipe(upstream.url, folder, proxy_core)),
        ]
        if options.peers:
            targets += stack.enter_context(peers(upstream.url, folder, proxy_core))
        bench = Bench(Target(upstream, ""), targets, size)
        return uvloop.run(bench.run(options.workloads, rounds))


def main(argv: Sequence[str]) -> int:
    """The command: 0, or 1 for a missed target with ``--check``, 69 where it cannot run, 70 when a subject fails."""
    options = arguments(argv)
    if not Path("/proc/self/task").exists():
        print("scripts/bench reads CPU time from /proc, which only Linux has", file=sys.stderr)
        return UNAVAILABLE
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    size = QUICK if options.quick else FULL
    rounds = options.rounds or (1 if options.quick else 3)
    try:
        lines = measured(options, size, rounds)
    except BenchError as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return FAILED
    print(table(lines, list(PEER_LETTERS) if options.peers else []))
    for line in lines:
        for name, note in line.notes.items():
            print(f"{line.workload.letter}: {name} was left out: {note}")
    if options.json is not None:
        machine = {"python": platform.python_version(), "system": platform.platform(), "cores": cores()}
        document = {
            "machine": machine,
            "size": asdict(size),
            "rounds": rounds,
            "workloads": {line.workload.letter: line.as_json() for line in lines},
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return MISSED if options.check and any(line.met is False for line in lines) else OK
