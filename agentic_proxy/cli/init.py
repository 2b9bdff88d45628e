"""``agentic-proxy init``: point a coding agent at the proxy for good, in its own settings, and take that back."""

from __future__ import annotations

import argparse
import os
import stat
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic_proxy.cli import block, output
from agentic_proxy.cli.clients.base import NO_TOKEN, Connection, Recipe, Setting
from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.addresses import normalise_base_url
from agentic_proxy.store.state_file import write_private_file


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file. ``before`` None: it does not exist; ``after`` None: it is removed."""

    path: Path
    before: bytes | None
    after: bytes | None


class InitError(Exception):
    """Why nothing was changed, for people."""


def run(arguments: argparse.Namespace) -> int:
    """Print, install or remove. 69: this client has no settings of ours; 73: its settings cannot be changed; 2: the
    address is none. Nothing is written unless everything can be."""
    recipe = RECIPES[arguments.client]
    if recipe.settings is None:
        output.fail(
            f"{recipe.title} cannot be set up for good by this version: start it with `agentic-proxy run {recipe.name}`"
        )
        return Exit.UNAVAILABLE
    try:
        url = normalise_base_url(arguments.url).removesuffix("/v1")
    except ValueError as error:
        output.fail(f"--url {error}")
        return Exit.USAGE
    token = NO_TOKEN if arguments.key else ""
    settings = recipe.settings(Connection(url, token, arguments.model))
    home = recipe.own_home(os.environ)
    if not (arguments.write or arguments.undo):
        _print(settings, home, recipe)
        return Exit.OK
    try:
        changes = list(undo(settings, home) if arguments.undo else install(settings, home))
        apply(changes)
    except InitError as error:
        output.fail(str(error))
        return Exit.CANNOT_WRITE
    except OSError as error:
        output.fail(f"{error.filename or home}: cannot be written: {error.strerror or error}")
        return Exit.CANNOT_WRITE
    _tell(changes, recipe, undone=arguments.undo)
    return Exit.OK


def install(settings: tuple[Setting, ...], home: Path) -> Iterator[Change]:
    """The changes that put these settings in. Raises InitError when a file defines the same, or cannot be understood
    before or after; OSError when it cannot be read."""
    for setting in settings:
        path, before = _read(home / setting.path)
        try:
            own = block.without_block(before) if before is not None else None
            after = block.with_block(before, setting.text, folder_exists=path.parent.exists())
        except block.BlockError as error:
            raise InitError(f"{path}: {error}") from None
        for name in setting.tables:
            if _defines(_parsed(own or b"", path), name):
                raise InitError(f"{path}: it defines {name} itself, so nothing was changed; remove that first")
        _parsed(after, path)
        yield Change(path, before, after)


def undo(settings: tuple[Setting, ...], home: Path) -> Iterator[Change]:
    """The changes that take them out again. Raises InitError, OSError."""
    for setting in settings:
        path, before = _read(home / setting.path)
        if before is None:
            continue
        try:
            after = block.without_block(before)
        except block.BlockError as error:
            raise InitError(f"{path}: {error}") from None
        if after != before:
            yield Change(path, before, after)


def _read(path: Path) -> tuple[Path, bytes | None]:
    # The file itself, where it is a link into somebody's dotfiles.
    path = path.resolve()
    try:
        return path, path.read_bytes()
    except FileNotFoundError:
        return path, None


def _parsed(content: bytes, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        raise InitError(f"{path}: it is not valid TOML, so nothing was changed: {error}") from None


def _defines(document: dict[str, object], name: str) -> bool:
    part: object = document
    for word in name.split("."):
        if not isinstance(part, dict) or word not in part:
            return False
        part = part[word]
    return True


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
    if change.after is None:
        change.path.unlink()
        if change.before is not None and block.made(change.before) == block.MADE_FOLDER:
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


def _print(settings: tuple[Setting, ...], home: Path, recipe: Recipe) -> None:
    for setting in settings:
        output.data(f"# {home / setting.path}\n{setting.text}")
    output.say(f"Nothing was changed: --write installs this. Then: {recipe.usage}")


def _tell(changes: list[Change], recipe: Recipe, *, undone: bool) -> None:
    if not changes:
        output.say(f"Nothing to undo: {recipe.title} is not set up by {output.PROGRAM}")
    for change in changes:
        if change.after is None:
            output.say(f"removed {change.path}")
        elif change.after == change.before:
            output.say(f"unchanged {change.path}")
        else:
            output.say(f"wrote {change.path}")
    if not undone:
        output.say(f"Now: {recipe.usage}")
