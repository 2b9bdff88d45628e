"""Runs the command line as a person would: a process of its own, a fake home, and an environment without surprises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT = 60.0
PROGRAM = (sys.executable, "-m", "agentic_proxy")


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(home: Path, **more: str) -> dict[str, str]:
    """PATH, HOME and little else: no key, no address and no setting of whoever runs the tests."""
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", **more}


def run_program(*arguments: str, env: Mapping[str, str], cwd: Path | None = None) -> Done:
    """One command to its end, at most ``LIMIT`` seconds."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=dict(env),
        cwd=cwd,
        timeout=LIMIT,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Served:
    """A command that served until SIGTERM: how it ended, what it said on the way, line by line."""

    code: int
    lines: tuple[str, ...]


def serve_for_a_moment(command: Sequence[str], env: Mapping[str, str], cwd: Path) -> Served:
    """Run a command until it says that it listens, end it with SIGTERM, and wait for it."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=dict(env), cwd=cwd
    )
    timer = threading.Timer(LIMIT, process.kill)
    timer.start()
    with process:
        assert process.stderr is not None
        lines = []
        try:
            for line in process.stderr:
                lines.append(line.rstrip("\n"))
                if line.startswith("listening on "):
                    process.send_signal(signal.SIGTERM)
        finally:
            timer.cancel()
    return Served(process.returncode, tuple(lines))
