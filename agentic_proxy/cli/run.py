"""``agentic-proxy run CLIENT``: one command for a coding agent and the proxy under it.

The proxy runs in this process on a free port, with a token that only this run's client has, or one that already serves
is used. The client gets a configuration of its own and the terminal; it ends, everything ends.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar
from urllib.parse import urlsplit

import orjson

from agentic_proxy.cli import output
from agentic_proxy.cli.child_env import child_environment
from agentic_proxy.cli.chosen import Chosen, from_file, from_file_or_machine
from agentic_proxy.cli.client_home import client_home, fill
from agentic_proxy.cli.clients.base import Connection, Recipe
from agentic_proxy.cli.clients.recipes import RECIPES
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.foreground import run_in_foreground
from agentic_proxy.cli.probe import get, list_models
from agentic_proxy.cli.reload import Reloader
from agentic_proxy.cli.run_log import LogVoice, open_run_log
from agentic_proxy.cli.runtime import Entry, Runtime
from agentic_proxy.cli.serve import Serve, bind_text, calm_collector, loop_factory
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import expanded, exposed, state_directory
from agentic_proxy.config.secrets import Secret
from agentic_proxy.config.watch import Watch
from agentic_proxy.observe import log, redact
from translators.failure import Failure

if TYPE_CHECKING:
    from agentic_proxy.server.serving import Changes

JOIN_SECONDS = 1.0
LIST_SECONDS = 5.0
HOST = "127.0.0.1"
Answer = TypeVar("Answer")


class RunError(Exception):
    """Why the client cannot be run, for people, and the exit code that goes with it."""

    def __init__(self, code: Exit, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: which client, with what, in which environment; ``model`` "" when nobody chose."""

    recipe: Recipe
    binary: str
    arguments: tuple[str, ...]
    model: str
    state: Path
    environ: Mapping[str, str]


def run(arguments: argparse.Namespace) -> int:
    """Run the client; its own exit code. 69: it is not installed or not available yet, or no model; 78: the
    configuration; 73: the state directory cannot be written; 1: the proxy could not start."""
    recipe = RECIPES[arguments.client]
    try:
        this = Run(
            recipe,
            find_binary(recipe, os.environ),
            tuple(arguments.arguments),
            arguments.model or "",
            state_directory(os.environ),
            os.environ,
        )
        if open_to_others := exposed(this.state):
            output.warn(open_to_others)
        named = arguments.config or os.environ.get("AGENTIC_PROXY_CONFIG")
        file = expanded(named) if named else None
        joined = _in_loop(find_live(Runtime(this.state).living(file)))
        if joined is not None:
            return _in_loop(_joined(this, joined))
        flags, watch = Flags(arguments.config, HOST, 0), Watch()
        chosen = from_file_or_machine(flags, os.environ, note=watch.note)
        own = OwnAccess(secrets.token_urlsafe(32))
        again = partial(_read_again, flags, chosen)
        reloader = Reloader(chosen, watch, again, own, without_keys=False, voice=LogVoice())
        return _with_own_proxy(this, chosen, own, reloader.run)
    except RunError as error:
        output.fail(str(error))
        return error.code
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    except OSError as error:
        output.fail(f"{error.filename or state_directory(os.environ)}: cannot be written: {error.strerror or error}")
        return Exit.CANNOT_WRITE


def find_binary(recipe: Recipe, environ: Mapping[str, str]) -> str:
    """The client's program. Raises RunError when this version cannot serve the client, or when it is not installed."""
    named = environ.get(recipe.binary_variable, "")
    found = shutil.which(named or recipe.binary, path=environ.get("PATH"))
    if found:
        return found
    what = f"{recipe.binary_variable} names {named}, which" if named else f"the program {recipe.binary}"
    text = f"{recipe.title} is not installed: {what} was not found. Install it with `{recipe.install}`"
    raise RunError(Exit.UNAVAILABLE, text + ("" if named else f", or set {recipe.binary_variable} to its path"))


async def find_live(entries: Iterable[Entry]) -> Entry | None:
    """The first of these proxies that answers as one: the place of one that was killed may be another program's."""
    for entry in entries:
        try:
            said = orjson.loads(await get(f"{entry.url}/health", JOIN_SECONDS) or b"null")
        except orjson.JSONDecodeError:
            continue
        if isinstance(said, dict) and said.get("status") == "ok":
            return entry
    return None


def _in_loop(work: Coroutine[Any, Any, Answer]) -> Answer:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(work)


async def _joined(this: Run, entry: Entry) -> int:
    model = this.model or await _default_model(entry.url, entry.token, entry.model)
    output.say(f"agentic-proxy: {this.recipe.title} with {model} on the running proxy at {entry.url}")
    code = await run_client(this, Connection(entry.url, entry.token, model))
    if code != Exit.OK:
        output.say(f"agentic-proxy: {this.recipe.name} ended with {code}; the proxy's log is where it was started")
    return code


@dataclass(frozen=True, slots=True)
class OwnAccess:
    """Lets the client of this run in, and nobody else."""

    token: str

    def admitting(self, config: Config) -> Config:
        """The configuration for a proxy on this machine only, with the run's own token as its one key."""
        redact.register(self.token)
        server = replace(config.server, host=HOST, port=0, api_keys=(Secret(self.token),))
        # The client is gone when the proxy stops, so there is nothing to wait for.
        timeouts = replace(config.timeouts, drain=min(config.timeouts.drain, 1.0))
        return replace(config, server=server, timeouts=timeouts)

    def entered(self) -> None:
        """Nobody else is to find this proxy."""


def _read_again(flags: Flags, chosen: Chosen, watch: Watch) -> Chosen:
    # What was found on this machine has no file that could change.
    return from_file(flags, os.environ, ran=chosen.plugins, note=watch.note)


def _with_own_proxy(this: Run, chosen: Chosen, own: OwnAccess, changes: Changes) -> int:
    for line in chosen.found:
        output.say(f"found {line}")
    for warning in chosen.config.warnings:
        output.warn(warning)
    with open_run_log(this.state, this.recipe.name) as stream:
        log.configure("info", stream=stream)
        from agentic_proxy.server.serving import serve

        return _in_loop(_own(this, chosen.config, own, serve, changes, stream))


async def _own(this: Run, config: Config, own: OwnAccess, serve: Serve, changes: Changes, stream: TextIO) -> int:
    async with own_proxy(serve, own.admitting(config), changes) as url:
        model = this.model or await _default_model(url, own.token, config.models.default or "")
        output.say(f"agentic-proxy: {this.recipe.title} with {model}")
        code = await run_client(this, Connection(url, own.token, model))
    if code != Exit.OK:
        output.say(f"agentic-proxy: {this.recipe.name} ended with {code}; the proxy's log: {stream.name}")
    return code


@asynccontextmanager
async def own_proxy(serve: Serve, config: Config, changes: Changes | None = None) -> AsyncIterator[str]:
    """A proxy in this process, which goes on with the configurations that ``changes`` hands it; yields its URL and
    drains it on leaving. Raises RunError when it cannot listen."""
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving: asyncio.Future[Any] = asyncio.ensure_future(
        serve(config, on_ready=ready.set_result, stop=stop, changes=changes)
    )
    await asyncio.wait([serving, ready], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        try:
            await serving
        except OSError as error:
            raise RunError(Exit.FAILURE, bind_text(error, config.server.host, config.server.port)) from error
        except Failure as failure:
            raise RunError(Exit.FAILURE, failure.message) from failure
        raise RunError(Exit.FAILURE, "the proxy has a bug: it ended before it listened")
    calm_collector()
    try:
        yield ready.result()
    finally:
        stop.set()
        try:
            await serving
        except Exception:
            log.get_logger(__name__).exception("the proxy has a bug and ended while its client ran")


async def _default_model(url: str, token: str, default: str) -> str:
    if default:
        return default
    names = await list_models(f"{url}/v1", LIST_SECONDS, token)
    if not names:
        text = "the proxy knows no model by itself: name one with --model, or set models.default in the configuration"
        raise RunError(Exit.UNAVAILABLE, text)
    return names[0]


async def run_client(this: Run, connection: Connection) -> int:
    """Run the client on the proxy at ``connection``, in a home of its own; its exit code. Raises RunError when it
    cannot be started, OSError when the home cannot be made."""
    with client_home(this.state, this.recipe.name) as folder:
        launch = this.recipe.launch(connection, folder)
        fill(folder, launch.files, this.recipe.own_home(this.environ), this.recipe.links)
        environment = {**without_proxy_for(connection.url, child_environment(this.environ)), **launch.environment}
        command = [this.binary, *launch.arguments, *this.arguments]
        try:
            return await run_in_foreground(command, environment)
        except OSError as error:
            text = f"{this.binary} cannot be started: {error.strerror or error}"
            raise RunError(Exit.UNAVAILABLE, text) from error


def without_proxy_for(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with this machine and the host of ``url`` excepted from any HTTP proxy in it: a client would go
    through it to us. Both spellings get what either had, for each hides the other one from some programs."""
    given = ",".join(environ.get(name, "") for name in ("NO_PROXY", "no_proxy")).split(",")
    known = [part.strip() for part in given if part.strip()]
    host = urlsplit(url).hostname or ""
    ours = ("127.0.0.1", "localhost", *([host, f"[{host}]"] if ":" in host else [host]))
    excepted = ",".join(dict.fromkeys((*known, *ours)))
    return {**environ, "NO_PROXY": excepted, "no_proxy": excepted}
