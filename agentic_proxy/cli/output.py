"""What commands print: data on standard output, everything said to a person on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

PROGRAM = "agentic-proxy"


def data(text: str) -> None:
    """One line of what was asked for, on standard output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """One line for a person, on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """Something to know that does not stop the command."""
    say(f"{PROGRAM}: warning: {text}")


def fail(text: str) -> None:
    """Why the command ends; each line of ``text`` stands alone."""
    for line in text.splitlines():
        say(f"{PROGRAM}: {line}")


def colour_wanted(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour ``stream``: NO_COLOR and FORCE_COLOR decide, else a terminal that is not dumb."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"
