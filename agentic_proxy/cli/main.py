"""The command line. Only argparse is imported here; a command's own file comes with the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeAlias

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.parser import Parser
from agentic_proxy.cli.version import foreign_translators, version_line

LOG_LEVELS = ("debug", "info", "warning", "error")
CLIENTS = ("codex", "claude", "opencode", "qwen")

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[Parser]


class Command(Protocol):
    """The module of a command."""

    def run(self, arguments: argparse.Namespace) -> int: ...


_EPILOG = """\
exit codes:
    0  fine
    1  failed while running
    2  wrong usage
   69  an agent, a model or a tool is not available
   73  a file cannot be written
   78  configuration not usable
  130  interrupted
  `run` passes on the agent's own

settings: a flag wins over the environment (AGENTIC_PROXY_CONFIG,
  AGENTIC_PROXY_HOST, AGENTIC_PROXY_PORT, AGENTIC_PROXY_HOME for all folders),
  that over the file, that over the default
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code. Raises SystemExit for ``--help``, ``--version`` and wrong usage."""
    words, given = _split(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(words)
    arguments.arguments = given
    try:
        if foreign := foreign_translators():
            output.fail(foreign)
            return Exit.CONFIG
        command: Command = import_module(f"agentic_proxy.cli.{arguments.command}")
        return command.run(arguments)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return _without_stdout(Exit.FAILURE)  # Whoever read our output went away.
    except output.OutputError as error:
        output.fail(f"standard output cannot be written: {error}")
        return _without_stdout(Exit.CANNOT_WRITE)
    finally:
        output.finished()


def _without_stdout(code: Exit) -> Exit:
    # Python would complain once more while closing the stream.
    sys.stdout = None
    return code


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our words and, after the first ``--`` of ``run``, the client's."""
    words = list(argv)
    if "--" not in words or words[0] != "run":
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=output.PROGRAM,
        description="One local program between a coding agent and any model.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version_line())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    _add_serve(commands)
    _add_run(commands)
    _add_init(commands)
    _add_patch(commands)

    models = commands.add_parser("models", help="list the models and where they lead")
    _add_config(models)
    models.add_argument("--json", action="store_true", help="as JSON")

    _add_tools(commands)

    config = commands.add_parser("config", help="look at the configuration")
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in (
        ("check", "say whether the configuration can be used"),
        ("path", "print which file is used"),
        ("show", "print every setting that is in force"),
    ):
        added = actions.add_parser(action, help=text)
        _add_config(added)
        if action == "show":
            added.add_argument("--origin", action="store_true", help="say where each value comes from")

    _add_usage(commands)
    _add_db(commands)
    return parser


def _add_serve(commands: Commands) -> None:
    serve = commands.add_parser("serve", help="start the proxy")
    source = serve.add_mutually_exclusive_group()
    _add_config(source)
    source.add_argument(
        "--auto", action="store_true", help="use the API keys and local model servers that are found, else the demo"
    )
    serve.add_argument(
        "--local-server",
        metavar="URL",
        action="append",
        default=[],
        help="with --auto: one more server that speaks Chat Completions",
    )
    serve.add_argument("--host", metavar="HOST", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", metavar="N", type=_port, help="port to listen on, 0 for a free one (default: 8484)")
    serve.add_argument(
        "--insecure-no-auth", action="store_true", help="listen on other addresses than loopback without API keys"
    )
    serve.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="what to log (default: info)")
    serve.add_argument("--hints", action="store_true", help="say how to point each client at the proxy")


def _add_run(commands: Commands) -> None:
    run = commands.add_parser(
        "run",
        help="start a coding agent on the proxy",
        usage=f"{output.PROGRAM} run [-h] [--model M] [--config FILE] CLIENT [-- ARGUMENTS]",
        epilog="what stands after -- goes to the agent, and its exit code comes back",
    )
    run.add_argument("client", metavar="CLIENT", choices=CLIENTS, help=f"the agent: {', '.join(CLIENTS)}")
    run.add_argument("--model", metavar="M", help="the model to use (default: models.default, else the first)")
    _add_config(run)


def _add_init(commands: Commands) -> None:
    init = commands.add_parser("init", help="point a coding agent at the proxy for good")
    init.add_argument(
        "--client", metavar="CLIENT", choices=CLIENTS, required=True, help=f"the agent: {', '.join(CLIENTS)}"
    )
    what = init.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="install the configuration (default: print it)")
    what.add_argument("--undo", action="store_true", help="remove exactly what --write installed")
    init.add_argument("--url", metavar="URL", default="http://127.0.0.1:8484", help="the proxy (default: %(default)s)")
    init.add_argument("--model", metavar="M", default="", help="the model to start with")
    init.add_argument("--key", action="store_true", help="the proxy asks for a key: take it from AGENTIC_PROXY_API_KEY")


def _add_tools(commands: Commands) -> None:
    tools = commands.add_parser(
        "tools",
        help="list the tools that the proxy runs itself, or try one",
        usage=f"{output.PROGRAM} tools [-h] [--config FILE] [--json] [test TOOL ...]",
        epilog="exit codes: 0 fine, 69 what is configured or named cannot be used, 78 configuration not usable",
    )
    actions = tools.add_subparsers(dest="action", metavar="ACTION", prog=f"{output.PROGRAM} tools")
    tested = actions.add_parser("test", help="try one of them")
    kinds = tested.add_subparsers(dest="tool", metavar="TOOL", required=True)
    search = kinds.add_parser("web_search", help="search once and print the results")
    search.add_argument("query", metavar="QUERY", nargs="+", help="what to search for")
    mcp = kinds.add_parser("mcp", help="connect to a server and list its tools")
    mcp.add_argument("label", metavar="LABEL", help="its name below tools.mcp.servers")
    _add_config(tools)
    tools.add_argument("--json", action="store_true", help="as JSON")
    for each in (search, mcp):
        # No defaults here: they would win over what stands in front of the action.
        _add_config(each, default=argparse.SUPPRESS)
        each.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="as JSON")


def _add_usage(commands: Commands) -> None:
    usage = commands.add_parser(
        "usage",
        help="sum up requests, tokens and what they cost",
        epilog="requests are those of clients; attempts are what was asked of providers for them, failed those among "
        "them that gave no answer",
    )
    usage.add_argument(
        "--by",
        metavar="NAMES",
        action="append",
        help="day, model, client or provider, several with commas between (default: day,model)",
    )
    usage.add_argument(
        "--since", metavar="WHEN", default="7d", help="a time back from now (7d, 12h) or a date (default: %(default)s)"
    )
    explain = commands.add_parser("explain", help="tell what became of a request")
    text = "the answer's x-request-id (req_...), or the id of its response (resp_...)"
    explain.add_argument("id", metavar="REQUEST_ID", help=text)
    for each in (usage, explain):
        _add_config(each)
        each.add_argument("--json", action="store_true", help="as JSON")


def _add_db(commands: Commands) -> None:
    actions = commands.add_parser("db", help="look at what is stored").add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    for action, text in (
        ("stats", "count what is stored"),
        ("prune", "remove what the configured retention no longer keeps"),
        ("export", "print everything as JSON lines"),
    ):
        added = actions.add_parser(action, help=text)
        _add_config(added)
        if action == "stats":
            added.add_argument("--json", action="store_true", help="as JSON")


def _add_patch(commands: Commands) -> None:
    patch = commands.add_parser(
        "patch",
        help="judge a patch of apply_patch as a model wrote it",
        epilog="exit codes: 0 valid, 1 fixed (or fixable), 2 refused",
    )
    actions = patch.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, text in (("check", "say whether it is right"), ("fix", "print it, repaired where that is certain")):
        added = actions.add_parser(action, help=text)
        added.add_argument("file", metavar="FILE", help="a patch, or the JSON arguments of a call; - is standard input")


def _add_config(parser: argparse._ActionsContainer, default: str | None = None) -> None:
    text = "configuration file (default: see `agentic-proxy config path`)"
    parser.add_argument("--config", metavar="FILE", default=default, help=text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
