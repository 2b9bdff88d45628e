"""``agentic-proxy config check | path | show``."""

from __future__ import annotations

import argparse
import os

from agentic_proxy.cli import output
from agentic_proxy.cli.chosen import loaded
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags, Loaded
from agentic_proxy.config.paths import config_file


def run(arguments: argparse.Namespace) -> int:
    """``path`` prints the file that would be used, whether it exists or not; ``check`` reads it as ``serve`` would;
    ``show`` prints what is in force after that."""
    if arguments.action == "path":
        path, _ = config_file(arguments.config, os.environ)
        output.data(str(path))
        return Exit.OK
    try:
        found = loaded(Flags(config=arguments.config))
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    for warning in found.config.warnings:
        output.warn(warning)
    if arguments.action == "show":
        _show(found, with_origin=arguments.origin)
        return Exit.OK
    count = len(found.config.providers)
    output.data(f"{found.path}: valid, {count} provider{'' if count == 1 else 's'}")
    return Exit.OK


def _show(found: Loaded, *, with_origin: bool) -> None:
    from agentic_proxy.cli.show import origin, settings

    lines = [(f"{key}: {value}", origin(key, found.origins)) for key, value in settings(found.config)]
    width = max(len(text) for text, _ in lines)
    for text, where in lines:
        output.data(f"{text:{width}}  # {where}" if with_origin else text)
