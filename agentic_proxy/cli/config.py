"""``agentic-proxy config check | path``."""

from __future__ import annotations

import argparse
import os

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.paths import config_file


def run(arguments: argparse.Namespace) -> int:
    """``path`` prints the file that would be used, whether it exists or not; ``check`` reads it as ``serve`` would."""
    if arguments.action == "path":
        path, _ = config_file(arguments.config, os.environ)
        output.data(str(path))
        return Exit.OK
    try:
        loaded = load(Flags(config=arguments.config))
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    for warning in loaded.config.warnings:
        output.warn(warning)
    count = len(loaded.config.providers)
    output.data(f"{loaded.path}: valid, {count} provider{'' if count == 1 else 's'}")
    return Exit.OK
