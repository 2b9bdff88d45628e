"""A child process in the foreground: it has the terminal, gets our signals, and its exit code is the answer."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
TYPED = frozenset({"SIGINT", "SIGQUIT"})
"""Those that a terminal sends to everybody in the foreground."""


async def run_in_foreground(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ``command`` with our standard streams until it ends; its exit code, or 128 + N when signal N killed it.

    Signals that arrive meanwhile go to it and do not end us. Raises OSError when it cannot be started.
    """
    early: list[int] = []
    child: asyncio.subprocess.Process | None = None

    def forward(number: int) -> None:
        if child is None:
            early.append(number)
        elif child.returncode is None and not _has_it_already(number):
            child.send_signal(number)

    with _handled(forward):
        child = await asyncio.create_subprocess_exec(*command, env=dict(environment))
        for number in early:
            forward(number)
        code = await child.wait()
    return code if code >= 0 else 128 - code


def _has_it_already(number: int) -> bool:
    """Whether the terminal has sent this signal to the child too: a second one would mean "at once"."""
    if signal.Signals(number).name not in TYPED:
        return False
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except (OSError, AttributeError):
        return False


@contextmanager
def _handled(handler: Callable[[int], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in FORWARDED}
    for number in FORWARDED:
        try:
            loop.add_signal_handler(number, handler, number)
        except NotImplementedError:  # Windows' loops take no handlers; the console tells the child itself
            signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in FORWARDED:
            with suppress(NotImplementedError):  # Windows: the loop has none, see above
                loop.remove_signal_handler(number)
            signal.signal(number, before[number])
