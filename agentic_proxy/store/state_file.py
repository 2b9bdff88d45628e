"""StateFile: a small JSON object on disk that several processes share (which proxies run, and the like).

A writer takes the lock beside the file, reads, changes, writes a new file and moves it into place; so a reader needs no
lock, and whoever dies in between leaves the old content. The file is 0600; a directory made for it is 0700.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import orjson

Json: TypeAlias = dict[str, Any]
LOCK_LIMIT = 2.0
"""Seconds to wait for another writer; each holds the lock for less than a millisecond."""
_PAUSE = 0.01


class StateFile:
    """One JSON object at ``path``. ``limit`` is how many seconds a writer waits for another one."""

    def __init__(self, path: Path, *, limit: float = LOCK_LIMIT) -> None:
        self.path = path
        self._limit = limit

    def read(self) -> Json:
        """The object; empty when there is no file or it holds something else. Raises OSError when it may not be
        read."""
        try:
            content = orjson.loads(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
            return {}
        return content if isinstance(content, dict) else {}

    def update(self, change: Callable[[Json], Json]) -> Json:
        """Replace the object by ``change(object)`` under the lock; returns the new one. An empty one removes the file.

        Raises OSError when the place cannot be written, or TimeoutError (one of them) when the lock stays taken.
        """
        make_private_directory(self.path.parent)
        with self._locked():
            content = change(self.read())
            if content:
                write_private_file(self.path, orjson.dumps(content))
            else:
                self.path.unlink(missing_ok=True)
        return content

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # A file of its own: the data file is replaced, so a lock on it would be a lock on something already gone.
        lock = self.path.with_name(self.path.name + ".lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + self._limit
            while not _try_lock(descriptor):
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"another process has held {lock} for {self._limit:g} s")
                time.sleep(_PAUSE)
            yield
        finally:
            os.close(descriptor)  # gives the lock back


def make_private_directory(path: Path) -> None:
    """Make ``path`` for this user alone, if it is not there. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def write_private_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Put a complete file in the place of ``path`` in one step. Raises OSError and then leaves what was there."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
