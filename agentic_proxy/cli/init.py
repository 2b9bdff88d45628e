"""``agentic-proxy init``: point a coding agent at the proxy for good, in its own settings, and take that back."""

from __future__ import annotations

import argparse
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

from agentic_proxy.cli import block, json_settings, output
from agentic_proxy.cli.change import Change, InitError, apply, read
from agentic_proxy.cli.clients.base import (
    MODEL,
    NO_TOKEN,
    TOKEN_VARIABLE,
    Connection,
    JsonSetting,
    Recipe,
    Setting,
)
from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.addresses import normalise_base_url
from agentic_proxy.config.paths import state_directory
from agentic_proxy.store.state_file import make_private_directory


def run(arguments: argparse.Namespace) -> int:
    """Print, install or remove. 73: the client's settings cannot be changed; 2: the address is none, or a model is
    missing. Nothing is written unless everything can be."""
    recipe = RECIPES[arguments.client]
    if recipe.needs_model and not (arguments.model or arguments.undo):
        output.fail(f"{recipe.title} knows only the models that its settings name: say which one with --model")
        return Exit.USAGE
    try:
        url = normalise_base_url(arguments.url).removesuffix("/v1")
    except ValueError as error:
        output.fail(f"--url {error}")
        return Exit.USAGE
    token = NO_TOKEN if arguments.key else ""
    settings = recipe.settings(Connection(url, token, arguments.model))
    home, state = recipe.own_home(os.environ), state_directory(os.environ)
    if not (arguments.write or arguments.undo):
        _print(settings, home)
        output.say(f"Nothing was changed: --write installs this. {_start('Then', recipe, arguments)}")
        return Exit.OK
    try:
        changes = list((undo if arguments.undo else install)(settings, home, state))
        if any(change.path.parent == state for change in changes):
            make_private_directory(state)
        apply(changes)
    except InitError as error:
        output.fail(str(error))
        return Exit.CANNOT_WRITE
    except OSError as error:
        output.fail(f"{error.filename or home}: cannot be written: {error.strerror or error}")
        return Exit.CANNOT_WRITE
    _tell(changes, recipe)
    if not arguments.undo:
        output.say(_start("Now", recipe, arguments))
    return Exit.OK


def install(settings: tuple[Setting | JsonSetting, ...], home: Path, state: Path) -> Iterator[Change]:
    """The changes that put these settings in. Raises InitError when a file defines the same, or cannot be understood
    before or after; OSError when it cannot be read."""
    for setting in settings:
        if isinstance(setting, JsonSetting):
            yield from json_settings.install(setting, home, state)
            continue
        path, before = read(home / setting.path)
        try:
            own = block.without_block(before) if before is not None else None
            after = block.with_block(before, setting.text, folder_exists=path.parent.exists())
        except block.BlockError as error:
            raise InitError(f"{path}: {error}") from None
        ours = tomllib.loads(setting.text)
        for name in (each for each in setting.tables if _defines(ours, each)):
            if _defines(_parsed(own or b"", path), name):
                raise InitError(f"{path}: it defines {name} itself, so nothing was changed; remove that first")
            if not _defines(_parsed(after, path), name):
                raise InitError(
                    f"{path}: behind its tables {name} would be part of the last one, so nothing was changed"
                )
        yield Change(path, before, after)


def undo(settings: tuple[Setting | JsonSetting, ...], home: Path, state: Path) -> Iterator[Change]:
    """The changes that take them out again. Raises InitError, OSError."""
    for setting in settings:
        if isinstance(setting, JsonSetting):
            yield from json_settings.undo(setting, home, state)
            continue
        path, before = read(home / setting.path)
        if before is None:
            continue
        try:
            after = block.without_block(before)
        except block.BlockError as error:
            raise InitError(f"{path}: {error}") from None
        if after != before:
            yield Change(path, before, after, folder_too=block.made(before) == block.MADE_FOLDER)


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


def _start(when: str, recipe: Recipe, arguments: argparse.Namespace) -> str:
    """How a person starts the client."""
    key = f", with a key of the proxy in {TOKEN_VARIABLE}" if arguments.key else ""
    return f"{when}{key}: {recipe.usage.replace(MODEL, arguments.model or MODEL)}"


def _print(settings: tuple[Setting | JsonSetting, ...], home: Path) -> None:
    shown = []
    for setting in settings:
        if isinstance(setting, JsonSetting):
            path, text = setting.paths[0], json.dumps(setting.members, indent=2, ensure_ascii=False) + "\n"
        else:
            path, text = setting.path, setting.text
        shown.append(f"# {home / path}\n{text}")
    output.block("\n".join(shown).rstrip("\n"))


def _tell(changes: list[Change], recipe: Recipe) -> None:
    if not changes:
        output.say(f"Nothing to undo: {recipe.title} is not set up by {output.PROGRAM}")
    for change in changes:
        if not change.told:
            continue
        for name in change.left:
            output.say(f"left {name} in {change.path}: it was changed since")
        if change.after is None:
            output.say(f"removed {change.path}")
        elif change.after == change.before:
            output.say(f"unchanged {change.path}")
        else:
            output.say(f"wrote {change.path}")
