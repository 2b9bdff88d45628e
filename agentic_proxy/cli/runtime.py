"""Which proxies of this user run: the runtime file in the state directory. ``serve`` enters itself, ``run`` looks.

An entry whose process is gone is passed over, and dropped by the next one that writes.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentic_proxy.store.state_file import Json, StateFile

NAME = "runtime.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """A proxy that serves. ``url`` has no path; ``token`` is what its clients must send ("" for nothing); ``config`` is
    the file it was started with ("" when it looked around by itself); ``model`` its default ("" for none)."""

    pid: int
    url: str
    token: str
    config: str
    model: str


class Runtime:
    """The runtime file of one state directory."""

    def __init__(self, directory: Path) -> None:
        self._file = StateFile(directory / NAME)

    @property
    def path(self) -> Path:
        return self._file.path

    def add(self, entry: Entry) -> None:
        """Enter a proxy. Raises OSError when the file cannot be written."""
        self._file.update(lambda content: {"proxies": [*_living(content, but=entry.pid), asdict(entry)]})

    def remove(self, pid: int) -> None:
        """Take a proxy out; the last one takes the file along. Raises OSError."""

        def without(content: Json) -> Json:
            others = _living(content, but=pid)
            return {"proxies": others} if others else {}

        self._file.update(without)

    def living(self, config: Path | None = None) -> list[Entry]:
        """The proxies whose processes exist, newest first; with ``config`` only those started with that file."""
        try:
            content = self._file.read()
        except OSError:
            return []
        entries = [Entry(**row) for row in reversed(_living(content))]
        return [entry for entry in entries if config is None or entry.config == str(config.resolve())]


def _living(content: Json, but: int | None = None) -> list[dict[str, Any]]:
    rows = content.get("proxies")
    kept = []
    for row in rows if isinstance(rows, list) else []:
        try:
            entry = Entry(**row)
        except TypeError:  # written by another version
            continue
        if entry.pid != but and isinstance(entry.pid, int) and is_alive(entry.pid):
            kept.append(row)
    return kept


def is_alive(pid: int) -> bool:
    """Whether a process with this id exists."""
    if pid <= 0:
        return False
    if sys.platform == "win32":  # there os.kill ends the process whatever the signal; asking its URL decides
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists and is somebody else's
        return True
    return True
