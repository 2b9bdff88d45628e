"""The local key: 32 random bytes in the state directory with which envelopes are made that only this user's proxies
accept. Not a credential of any provider; losing it means that sealed reasoning and summaries are no longer accepted.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

KEY_NAME = "local.key"
KEY_SIZE = 32


def local_key(directory: Path) -> bytes:
    """The key of this state directory, made at the first call; several processes get the same one.

    Raises OSError when it can be neither read nor made, ValueError when the file holds something else.
    """
    path = directory / KEY_NAME
    try:
        return _checked(path)
    except FileNotFoundError:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
        return _checked(path)


def _checked(path: Path) -> bytes:
    key = path.read_bytes()
    if len(key) != KEY_SIZE:
        raise ValueError(f"{path} does not hold a key of {KEY_SIZE} bytes: remove it, a new one is made")
    return key


def _make(path: Path) -> None:
    """Complete or not at all, and whoever is first wins: a link, unlike a move, fails where a file already is."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_SIZE))
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)
