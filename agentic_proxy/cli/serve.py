"""``agentic-proxy serve``: load the configuration, run the server until a signal, end with the right code."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

from agentic_proxy.cli import output
from agentic_proxy.cli.exits import Exit
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.model import Config
from agentic_proxy.observe import log


class Serve(Protocol):
    """``agentic_proxy.server.app.serve``: listens, calls ``on_ready(url)``, serves until ``stop``, drains, returns."""

    def __call__(self, config: Config, *, on_ready: Callable[[str], None], stop: asyncio.Event) -> Awaitable[None]: ...


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM (0) or SIGINT (130). 78: the configuration; 1: could not listen, or an internal error."""
    flags = Flags(arguments.config, arguments.host, arguments.port, arguments.insecure_no_auth)
    try:
        config = load(flags).config
    except ConfigError as error:
        output.fail(str(error))
        return Exit.CONFIG
    for warning in config.warnings:
        output.warn(warning)
    log.configure(arguments.log_level, colours=output.colour_wanted(sys.stderr, os.environ))
    from agentic_proxy.server.app import serve

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(serve, config))
    except Exception:
        # Through the log, not as Python's own traceback: that one would not be redacted.
        log.get_logger(__name__).exception("the proxy has a bug and cannot go on")
        return Exit.FAILURE


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(serve: Serve, config: Config) -> int:
    stop = asyncio.Event()
    ending = Exit.OK
    listening = False

    def on_ready(url: str) -> None:
        nonlocal listening
        listening = True
        output.say(f"listening on {url}")

    def on_terminate() -> None:
        stop.set()

    def on_interrupt() -> None:
        nonlocal ending
        if stop.is_set():
            # The person does not want to wait for the drain; nothing that is written must be finished first.
            os._exit(Exit.INTERRUPTED)
        ending = Exit.INTERRUPTED
        stop.set()

    _handle_signals({signal.SIGTERM: on_terminate, signal.SIGINT: on_interrupt})
    try:
        await serve(config, on_ready=on_ready, stop=stop)
    except OSError as error:
        if listening:
            raise
        output.fail(_bind_text(error, config.server.host, config.server.port))
        return Exit.FAILURE
    return ending


def _handle_signals(handlers: dict[signal.Signals, Callable[[], None]]) -> None:
    loop = asyncio.get_running_loop()

    def later(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(handlers[signal.Signals(number)])

    for number, handler in handlers.items():
        try:
            loop.add_signal_handler(number, handler)
        except NotImplementedError:  # Windows
            signal.signal(number, later)


def _bind_text(error: OSError, host: str, port: int) -> str:
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
