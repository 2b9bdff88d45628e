"""Hangup: SIGHUP has two meanings, "read your configuration again" and "your terminal is gone". They are told apart by
looking whether it is."""

from __future__ import annotations

import os

STREAMS = (0, 1, 2)


class Terminal:
    """The terminal that the process was started on, if it was."""

    def __init__(self) -> None:
        self._streams = [number for number in STREAMS if _is_terminal(number)]

    def is_gone(self) -> bool:
        """Whether it was closed. False for a process that never had one. If so, what would be written to it goes
        nowhere from now on, instead of failing."""
        gone = [number for number in self._streams if not _is_terminal(number)]
        if gone:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in gone:
                os.dup2(nowhere, number)
            os.close(nowhere)
        return bool(gone)


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False
