"""The folder in which a client finds its configuration for one run.

It stands in the state directory, not in the system's temporary folder: Codex makes no helper programs there. A run that
was killed leaves its folder; the next one clears it away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentic_proxy.cli.runtime import is_alive
from agentic_proxy.store.state_file import make_private_directory

FOLDER = "homes"


@contextmanager
def client_home(state: Path, name: str) -> Iterator[Path]:
    """A new folder for this process, removed on leaving with everything in it. Raises OSError if it cannot be made."""
    homes = state / FOLDER
    make_private_directory(state)
    make_private_directory(homes)
    _clear(homes)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}.{os.getpid()}.", dir=homes))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fill(folder: Path, files: Mapping[str, str], own: Path, links: Sequence[str]) -> None:
    """Write ``files``; let the client read what ``links`` names in ``own``, the user's folder.

    A folder is linked entry by entry, so that what the client adds there stays here, and hidden entries, which are the
    client's own, not at all.
    """
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in links:
        source = own / name
        if source.is_dir():
            (folder / name).mkdir()
            for entry in sorted(source.iterdir()):
                if not entry.name.startswith("."):
                    _link(folder / name / entry.name, entry)
        elif source.is_file():
            _link(folder / name, source)


def _link(place: Path, target: Path) -> None:
    try:
        place.symlink_to(target.absolute())
    except OSError:
        pass  # Windows without developer mode; the run works without it.


def _clear(homes: Path) -> None:
    for folder in homes.iterdir():
        owner = folder.name.split(".")[1:2]
        if owner and owner[0].isdecimal() and not is_alive(int(owner[0])):
            shutil.rmtree(folder, ignore_errors=True)
