"""Runs the command line as a person would: a process of its own, a fake home, and an environment without surprises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
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
