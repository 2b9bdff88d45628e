"""Watch: the files that a configuration was read from, as they were then, and whether one has changed since."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple, TypeAlias

Sight: TypeAlias = tuple[int, int, int] | None
"""What tells at a glance that a file was written or replaced: time in ns, size, inode; None: it is not there."""


class _Noted(NamedTuple):
    sight: Sight
    digest: bytes | None


def _sight(path: Path) -> Sight:
    try:
        found = path.stat()
    except (OSError, ValueError):  # a name with a NUL
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(path: Path) -> bytes | None:
    """None for what cannot be read, and for what is no plain file: to look into a pipe takes away what is in it."""
    try:
        return hashlib.sha256(path.read_bytes()).digest() if path.is_file() else None
    except OSError:
        return None


def writable_by_everybody(path: Path) -> bool:
    """Whether every user of this machine may write a file. Windows keeps rights elsewhere."""
    try:
        return hasattr(os, "geteuid") and bool(path.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return False


class Watch:
    """The files of one reading."""

    def __init__(self) -> None:
        self._noted: dict[Path, _Noted] = {}
        self._last: dict[Path, Sight] = {}

    def note(self, path: Path) -> None:
        """Call it just before a file is read: a change that comes while it is being read is one."""
        self._noted[path] = _Noted(_sight(path), _digest(path))

    def renewed(self) -> Watch:
        """The same files as they are now."""
        watch = Watch()
        for path in self._noted:
            watch.note(path)
        return watch

    def keep(self, other: Watch) -> None:
        """Go on with files of ``other`` that this reading did not come to."""
        self._noted = {**other._noted, **self._noted}

    def moved(self) -> bool:
        """Whether a file looks different than when it was noted, and just as it did at the last call: nobody is
        writing it any more. Costs one ``stat`` for each file."""
        now = {path: _sight(path) for path in self._noted}
        steady, self._last = now == self._last, now
        return steady and any(now[path] != noted.sight for path, noted in self._noted.items())

    def differs(self) -> bool:
        """Whether what has moved has another content too. If not, it counts as noted. Reads the files."""
        if any(_digest(path) != noted.digest for path, noted in self._noted.items()):
            return True
        for path, noted in self._noted.items():
            self._noted[path] = noted._replace(sight=self._last.get(path, noted.sight))
        return False
