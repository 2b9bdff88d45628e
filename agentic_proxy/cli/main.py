"""The command line. Only argparse is imported here; a command's own file comes with the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.version import foreign_translators, version_line

LOG_LEVELS = ("debug", "info", "warning", "error")

_EPILOG = """\
exit codes: 0 fine, 1 failed while running, 2 wrong usage, 78 configuration not usable, 130 interrupted
settings: flag over environment (AGENTIC_PROXY_CONFIG, AGENTIC_PROXY_HOST, AGENTIC_PROXY_PORT) over file over default
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code. Raises SystemExit for ``--help``, ``--version`` and wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        if foreign := foreign_translators():
            output.fail(foreign)
            return Exit.CONFIG
        if arguments.command == "serve":
            from agentic_proxy.cli import serve

            return serve.run(arguments)
        from agentic_proxy.cli import config

        return config.run(arguments)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output went away; Python would complain once more while closing the stream.
        sys.stdout = None
        return Exit.FAILURE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=output.PROGRAM,
        description="One local program between a coding agent and any model.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=version_line())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    serve = commands.add_parser("serve", help="start the proxy", allow_abbrev=False)
    _add_config(serve)
    serve.add_argument("--host", metavar="HOST", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", metavar="N", type=_port, help="port to listen on, 0 for a free one (default: 8484)")
    serve.add_argument(
        "--insecure-no-auth", action="store_true", help="listen on other addresses than loopback without API keys"
    )
    serve.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="what to log (default: info)")

    config = commands.add_parser("config", help="look at the configuration", allow_abbrev=False)
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in (
        ("check", "say whether the configuration can be used"),
        ("path", "print which file is used"),
    ):
        _add_config(actions.add_parser(action, help=text, allow_abbrev=False))
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help="configuration file (default: see `agentic-proxy config path`)"
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
