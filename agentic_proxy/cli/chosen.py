"""Which configuration a command works with: a file, or what is found on this machine."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from agentic_proxy.cli import output, presets
from agentic_proxy.cli.runtime import Runtime
from agentic_proxy.config.errors import ConfigError, Problem
from agentic_proxy.config.load import Flags, Loaded, load
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import config_file, state_directory

FOUND = "what was found on this machine"


@dataclass(frozen=True, slots=True)
class Chosen:
    """``file`` None: it was put together from ``found``, what a person is told about that, line by line. ``plugins``
    are those that it names, see ``Loaded``."""

    config: Config
    file: Path | None
    found: tuple[str, ...] = ()
    plugins: Mapping[Path, str] = field(default_factory=dict)


def loaded(
    flags: Flags,
    environ: Mapping[str, str] | None = None,
    *,
    ran: Mapping[Path, str] | None = None,
    note: Callable[[Path], object] = lambda path: None,
) -> Loaded:
    """The configuration of a file, with what its plugins add. ``ran`` and ``note`` are those of ``load``. Raises
    ConfigError."""

    def registries() -> object:
        # Only who has a plugin pays for the import of everything that a plugin may add to.
        from agentic_proxy.engine.plugins import Registries

        return Registries()

    return load(flags, environ, registries=registries, ran=ran, note=note)


def from_file(
    flags: Flags,
    environ: Mapping[str, str] | None = None,
    *,
    ran: Mapping[Path, str] | None = None,
    note: Callable[[Path], object] = lambda path: None,
) -> Chosen:
    """The configuration of a file; ``ran`` and ``note`` as in ``loaded``. Raises ConfigError."""
    found = loaded(flags, environ, ran=ran, note=note)
    return Chosen(found.config, found.path, plugins=found.plugins)


def from_machine(flags: Flags, servers: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Chosen:
    """The configuration that needs no file: keys in the environment, servers on this machine, else the demo.

    Args:
        servers: Base URLs of further servers that speak Chat Completions.
    Raises:
        ConfigError: a key or an address that was found cannot be used.
    """
    environ = os.environ if environ is None else environ
    found = asyncio.run(presets.find(environ, servers))
    config = _load_document(found.document, flags, environ).config
    return Chosen(config, None, found.lines)


def from_file_or_machine(
    flags: Flags, environ: Mapping[str, str] | None = None, *, note: Callable[[Path], object] = lambda path: None
) -> Chosen:
    """The named file, else the usual one if it is there, else what is found; ``note`` as in ``loaded``. Raises
    ConfigError."""
    environ = os.environ if environ is None else environ
    path, chosen_by = config_file(flags.config, environ)
    if chosen_by != "flag --config" and not path.exists() and not environ.get("AGENTIC_PROXY_CONFIG"):
        return from_machine(flags, environ=environ)
    return from_file(flags, environ, note=note)


def in_use(flag: str | None, environ: Mapping[str, str]) -> str | None:
    """What ``--config`` says; where nobody named a file and the usual one is not there, the file of a proxy that runs,
    which a person is told: ``scripts/run`` serves with one that no other command would find."""
    path, _ = config_file(flag, environ)
    if flag is not None or environ.get("AGENTIC_PROXY_CONFIG") or path.exists():
        return flag
    for entry in Runtime(state_directory(environ)).living():
        if entry.config and Path(entry.config).exists():
            output.say(f"with the configuration of the proxy at {entry.url}: {entry.config}")
            return entry.config
    return flag


def _load_document(document: presets.Json, flags: Flags, environ: Mapping[str, str]) -> Loaded:
    # Through a file, so that there is one way into a configuration; JSON is YAML.
    with tempfile.TemporaryDirectory(prefix="agentic-proxy-") as folder:
        file = Path(folder) / "found.json"
        file.write_bytes(orjson.dumps(document))
        try:
            return load(replace(flags, config=str(file)), environ)
        except ConfigError as error:
            raise ConfigError(FOUND, (_placed(problem, document) for problem in error.problems)) from None


def _placed(problem: Problem, document: presets.Json) -> Problem:
    """A problem where a person can mend it: nobody has written the document."""
    place = re.fullmatch(r"providers\[(\d+)]\.(api_key|base_url)", problem.key)
    if place is None:
        return replace(problem, line=None)
    value = document["providers"][int(place[1])][place[2]]
    key = f"the environment variable {value[2:-1]}" if value.startswith("${") else f"the address {value}"
    return replace(problem, key=key, line=None, outside=True)
