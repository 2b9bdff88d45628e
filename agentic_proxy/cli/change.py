"""What becomes of files that belong to somebody else: all changes are made, or none."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic_proxy.store.state_file import write_private_file


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file. ``before`` None: it does not exist; ``after`` None: it is removed, and with
    ``folder_too`` its folder as well if nothing else is in it. ``told``: whether a person hears of it; ``left`` are
    settings in it that stay."""

    path: Path
    before: bytes | None
    after: bytes | None
    folder_too: bool = False
    told: bool = True
    left: tuple[str, ...] = ()


class InitError(Exception):
    """Why nothing was changed, for people."""


def read(path: Path) -> tuple[Path, bytes | None]:
    """The file itself, where ``path`` is a link into somebody's dotfiles, and its content. Raises OSError."""
    path = path.resolve()
    try:
        return path, path.read_bytes()
    except FileNotFoundError:
        return path, None


def apply(changes: Sequence[Change]) -> None:
    """Make all changes, or none: what was written is put back when one fails. Raises OSError."""
    done: list[Change] = []
    try:
        for change in changes:
            _apply(change)
            done.append(change)
    except OSError:
        for change in reversed(done):
            _apply(Change(change.path, change.after, change.before))
        raise


def _apply(change: Change) -> None:
    if change.after == change.before:
        return
    if change.after is None:
        change.path.unlink()
        if change.folder_too:
            _remove_if_empty(change.path.parent)
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(change.path.stat().st_mode) if change.before is not None else 0o600
    write_private_file(change.path, change.after, mode=mode)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        pass  # The client has put something into it meanwhile.
