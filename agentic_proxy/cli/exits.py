"""The exit codes of the program. People and scripts rely on them; they do not change."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the process says when it ends (sysexits.h names where there is one)."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    UNAVAILABLE = 69
    CANNOT_WRITE = 73
    CONFIG = 78
    INTERRUPTED = 130
