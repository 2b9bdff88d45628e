"""The log of a proxy that ``run`` started: a file, because the terminal belongs to the client."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TextIO

from agentic_proxy.store.state_file import make_private_directory

FOLDER = "logs"
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
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", buffering=1, encoding="utf-8")
