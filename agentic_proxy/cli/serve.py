"""``agentic-proxy serve``: load the configuration, run the server until a signal, end with the right code."""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agentic_proxy.cli import output
from agentic_proxy.cli.announcement import Announcement
from agentic_proxy.cli.exits import Exit
from agentic_proxy.cli.hangup import Terminal
from agentic_proxy.cli.reload import Reloader
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import config_file, exposed, state_directory
from agentic_proxy.config.watch import Watch
from agentic_proxy.observe import log
from translators.failure import Failure

if TYPE_CHECKING:
    from agentic_proxy.server.serving import Changes


class Serve(Protocol):
    """``agentic_proxy.server.serving.serve``: listens, calls ``on_ready(url)``, serves until ``stop``, drains.
    Meanwhile ``changes`` hands it new configurations."""

    def __call__(
        self,
        config: Config,
        *,
        on_ready: Callable[[str], None],
        stop: asyncio.Event,
        changes: Changes | None = None,
    ) -> Awaitable[None]: ...


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM (0) or SIGINT (130). 2: words that do not go together; 78: the configuration; 1: could not
    listen or open its store, or an internal error."""
    if arguments.local_server and not arguments.auto:
        output.fail("--local-server belongs to --auto: with a configuration, name the server there as a provider")
        return Exit.USAGE
    flags = Flags(arguments.config, arguments.host, arguments.port, arguments.insecure_no_auth)
    from agentic_proxy.cli.chosen import Chosen, from_file, from_machine

    def read(watch: Watch, ran: Mapping[Path, str] | None) -> Chosen:
        if arguments.auto:
            return from_machine(flags, arguments.local_server)
        return from_file(flags, ran=ran, note=watch.note)

    watch = Watch()
    try:
        chosen = read(watch, None)
    except ConfigError as error:
        output.fail(str(error))
        if not (arguments.auto or config_file(arguments.config, os.environ)[0].exists()):
            output.fail("or start without one, with what is found on this machine: agentic-proxy serve --auto")
        return Exit.CONFIG
    for line in chosen.found:
        output.say(f"found {line}")
    open_to_others = exposed(state_directory(os.environ))
    for warning in (*chosen.config.warnings, *([open_to_others] if open_to_others else ())):
        output.warn(warning)
    announcement = Announcement(chosen.file, hints=arguments.auto or arguments.hints)
    config = announcement.admitting(chosen.config)
    again = partial(read, ran=chosen.plugins)
    reloader = Reloader(chosen, watch, again, announcement, without_keys=arguments.insecure_no_auth)
    log.configure(arguments.log_level, colours=output.colour_wanted(sys.stderr, os.environ))
    from agentic_proxy.server.serving import serve

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_serve(serve, config, announcement, reloader))
    except Exception:
        # Through the log, not as Python's own traceback: that one would not be redacted.
        log.get_logger(__name__).exception("the proxy has a bug and cannot go on")
        return Exit.FAILURE


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def calm_collector() -> None:
    """Leave alone what was made before the first request, and look for cycles less often: they are rare here, and the
    default collector costs a seventh of a request's CPU time (measured)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


async def _serve(serve: Serve, config: Config, announcement: Announcement, reloader: Reloader) -> int:
    stop = asyncio.Event()
    ending = Exit.OK
    listening = False

    def on_ready(url: str) -> None:
        nonlocal listening
        listening = True
        announcement.made(url)
        calm_collector()

    def on_terminate() -> None:
        stop.set()

    def on_interrupt() -> None:
        nonlocal ending
        if stop.is_set():
            # The person does not want to wait for the drain; nothing that is written must be finished first.
            os._exit(Exit.INTERRUPTED)
        ending = Exit.INTERRUPTED
        stop.set()

    terminal = Terminal()

    def on_hangup() -> None:
        # Whoever closes the window means the end, whoever sends the signal means the configuration.
        (on_terminate if terminal.is_gone() else reloader.ask)()

    handlers = {signal.SIGTERM: on_terminate, signal.SIGINT: on_interrupt}
    if sys.platform != "win32":
        handlers[signal.SIGHUP] = on_hangup
    _handle_signals(handlers)
    try:
        await serve(config, on_ready=on_ready, stop=stop, changes=reloader.run)
    except OSError as error:
        if listening:
            raise
        output.fail(bind_text(error, config.server.host, config.server.port))
        return Exit.FAILURE
    except Failure as failure:
        if listening:
            raise
        output.fail(failure.message)
        return Exit.FAILURE
    finally:
        if listening:
            announcement.withdrawn()
    return ending


def _handle_signals(handlers: dict[signal.Signals, Callable[[], None]]) -> None:
    loop = asyncio.get_running_loop()

    def later(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(handlers[signal.Signals(number)])

    for number, handler in handlers.items():
        try:
            loop.add_signal_handler(number, handler)
        except NotImplementedError:  # Windows' loops take no handlers: the interpreter's own do the same
            signal.signal(number, later)


def bind_text(error: OSError, host: str, port: int) -> str:
    """Why the proxy could not listen, and what to do."""
    place = f"cannot listen on {host}:{port}"
    if isinstance(error, socket.gaierror):
        return f"{place}: the host name is not known here"
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"{place}: another program uses this port (maybe another agentic-proxy). "
                "Stop it, or choose another port with --port (0 takes a free one)"
            )
        case errno.EADDRNOTAVAIL:
            return f"{place}: this machine has no such address"
        case errno.EACCES | errno.EPERM:
            return f"{place}: not allowed; ports below 1024 need special rights, choose another with --port"
        case _:
            return f"{place}: {error.strerror or type(error).__name__}"
