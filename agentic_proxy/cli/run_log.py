"""The log of a proxy that ``run`` started: a file, because the terminal belongs to the client."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TextIO

from agentic_proxy.observe.log import get_logger
from agentic_proxy.store.state_file import make_private_directory

FOLDER = "logs"
_log = get_logger(__name__)
KEPT = 20
"""Files of earlier runs that stay."""


def open_run_log(state: Path, name: str) -> TextIO:
    """A new log file for this process, for this user alone; the oldest ones go. Raises OSError."""
    folder = state / FOLDER
    make_private_directory(state)
    make_private_directory(folder)
    for old in sorted(folder.glob("run-*.log"))[: -KEPT or None]:
        old.unlink(missing_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%S")
    path = folder / f"run-{stamp}-{name}-{os.getpid()}.log"
    return open(path, "a", buffering=1, encoding="utf-8", opener=_private)


class LogVoice:
    """Says in the log what ``cli/output.py`` says on a terminal."""

    def say(self, text: str) -> None:
        """Something to know."""
        _log.info(text)

    def warn(self, text: str) -> None:
        """Something to look at."""
        _log.warning(text)

    def fail(self, text: str) -> None:
        """Something that did not work."""
        for line in text.splitlines():
            _log.error(line)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
