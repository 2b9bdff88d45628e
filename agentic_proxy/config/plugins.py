"""Find a plugin's file and run it. What a plugin may add is the caller's business: it passes the registries.

A plugin is the program's own code from the moment it runs, with the user's keys in its reach; so its file must be the
user's, and nobody else may be able to write to it.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import stat
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from agentic_proxy.config.errors import ConfigError, KeyPath, Problem, Report
from agentic_proxy.config.paths import expanded

PLUGIN_API = 1
"""What a plugin must say it was written for."""


def run_plugins(named: Any, folder: Path, registries: object, report: Report) -> None:
    """Run the files under the key ``plugins``, in their order.

    Args:
        named: The value as the file has it; what is no list of texts is left to the schema.
        folder: Where relative paths begin: the configuration's own.
        registries: Handed to each plugin's ``register``.
    Raises:
        ConfigError: the plugin did not load; it names the plugin's file, and the line where that is known. A file
            that may not be used is reported at its place in the configuration instead.
    """
    for position, file in _files(named, folder):
        _run_named(file, registries, ("plugins", position), report)


def fingerprints(named: Any, folder: Path) -> dict[Path, str]:
    """What the files under the key ``plugins`` hold, as digests; empty for one that cannot be read or be used."""
    found: dict[Path, str] = {}
    for _, file in _files(named, folder):
        try:
            found[file] = hashlib.sha256(_read(file)).hexdigest()
        except (OSError, ValueError):
            found[file] = ""
    return found


def _files(named: Any, folder: Path) -> Iterator[tuple[int, Path]]:
    for position, name in enumerate(named if isinstance(named, list) else ()):
        if isinstance(name, str) and name.strip():
            yield position, folder / expanded(name)


def _run_named(file: Path, registries: object, path: KeyPath, report: Report) -> None:
    try:
        source = _read(file)
    except OSError as error:
        report.add(path, f"the file {file} cannot be read: {error.strerror}")
    except ValueError as error:
        report.add(path, f"the file {file} {error}")
    else:
        _run(file, source, registries)


def _read(file: Path) -> bytes:
    """The file's content, judged and read through one descriptor: it cannot be exchanged between. Raises OSError, and
    ValueError for a file that others have power over."""
    # A FIFO would wait for its writer.
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _judge(os.fstat(descriptor), file)
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(descriptor)


def _judge(found: os.stat_result, file: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("is not a regular file")
    if not hasattr(os, "geteuid"):
        return  # Windows keeps rights elsewhere
    if found.st_uid != os.geteuid():
        raise ValueError("belongs to another user, who could change what it does; make a copy of your own")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ValueError(f"can be changed by other users; correct it with: chmod go-w {file}")


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the bytes that were judged. Neither reads nor writes ``__pycache__``, where others might put theirs."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


def _run(file: Path, source: bytes, registries: object) -> None:
    place = str(file)
    # No module of the program, of a library or of another plugin has this name.
    name = f"_agentic_proxy_plugin_{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}"
    loader = _Loader(name, place, source)
    spec = importlib.util.spec_from_file_location(name, place, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for their module there
    try:
        loader.exec_module(module)
        register = _register_of(module, place)
        register(registries)
    except ConfigError:
        sys.modules.pop(name, None)
        raise
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        what = error.msg if isinstance(error, SyntaxError) else error
        text = f"{type(error).__name__}: {what}".removesuffix(": ")
        raise ConfigError(place, [Problem(f"the plugin failed: {text}", line=_line(error, place))]) from error


def _register_of(module: Any, place: str) -> Any:
    version = getattr(module, "PLUGIN_API", None)
    if version is None:
        raise ConfigError(place, [Problem(f"is not a plugin: it must define PLUGIN_API = {PLUGIN_API}")])
    if version != PLUGIN_API or isinstance(version, bool):
        text = f"was written for PLUGIN_API {version!r}; this version of agentic-proxy knows {PLUGIN_API}"
        raise ConfigError(place, [Problem(text)])
    register = getattr(module, "register", None)
    if not callable(register):
        raise ConfigError(place, [Problem("is not a plugin: it must define register(registries)")])
    return register


def _line(error: BaseException, place: str) -> int | None:
    """The line of the plugin that was being run, or that Python cannot read."""
    if isinstance(error, SyntaxError) and error.filename == place:
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == place]
    return lines[-1] if lines else None
