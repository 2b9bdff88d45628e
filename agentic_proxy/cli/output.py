"""What commands print: data on standard output, everything said to a person on standard error.

Names in it come from clients and upstreams, so control characters are shown and not sent to the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

from agentic_proxy.observe import printable

PROGRAM = "agentic-proxy"


class OutputError(Exception):
    """Standard output takes nothing more; the text says why."""


def data(text: str) -> None:
    """One line of what was asked for, on standard output. Raises OutputError, BrokenPipeError."""
    raw(f"{printable.one_line(text)}\n".encode())


def block(text: str) -> None:
    """Several lines of it, such as JSON. Raises OutputError, BrokenPipeError."""
    raw(f"{printable.lines(text)}\n".encode())


def raw(content: bytes) -> None:
    """Content as it is, on standard output. Raises OutputError, BrokenPipeError when its reader has left."""
    if sys.stdout is None:
        raise OutputError("it is closed")
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from error


def say(text: str) -> None:
    """One line for a person, on standard error, if that takes one: a proxy that serves must not end for it."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{printable.one_line(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # a full disk, a reader that has left, a stream that was closed
        pass


def warn(text: str) -> None:
    """Something to know that does not stop the command."""
    say(f"{PROGRAM}: warning: {text}")


def fail(text: str) -> None:
    """Why the command ends; each line of ``text`` stands alone."""
    for line in text.splitlines():
        say(f"{PROGRAM}: {line}")


def finished() -> None:
    """Nothing more is said. Let go of a standard error that does not take what it has: Python would try again at the
    end, and change the exit code."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        sys.stderr = None


def colour_wanted(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour ``stream``: NO_COLOR and FORCE_COLOR decide, else a terminal that is not dumb."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"
