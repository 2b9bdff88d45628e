"""A child in the foreground: streams, signals and exit code are its own."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_proxy.cli.foreground import FORWARDED, run_in_foreground

LIMIT = 30.0
HARNESS = """
import asyncio, os, sys
from agentic_proxy.cli.foreground import run_in_foreground
print("code", asyncio.run(run_in_foreground([sys.executable, "-c", sys.argv[1]], os.environ)), flush=True)
"""
COUNT = """
import signal
numbers = {signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
signal.sigwait(numbers)
print("second" if signal.sigtimedwait(numbers, 0.3) else "once", flush=True)
"""


@pytest.mark.parametrize(
    ("source", "code"), [("", 0), ("raise SystemExit(5)", 5), ("import os; os.kill(os.getpid(), 9)", 137)]
)
async def test_the_exit_code_is_the_childs(source: str, code: int) -> None:
    before = {number: signal.getsignal(number) for number in FORWARDED}
    assert await run_in_foreground([sys.executable, "-c", source], os.environ) == code
    assert {number: signal.getsignal(number) for number in FORWARDED} == before


async def test_the_child_has_exactly_the_environment_given(tmp_path: Path) -> None:
    source = (
        f"import os; open({str(tmp_path / 'seen')!r}, 'w').write(os.environ.get('X', '') + os.environ.get('HOME', ''))"
    )
    assert await run_in_foreground([sys.executable, "-c", source], {"X": "1"}) == 0
    assert (tmp_path / "seen").read_text() == "1"


async def test_a_program_that_is_not_there_is_an_error_and_signals_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(FileNotFoundError):
        await run_in_foreground(["/no/such/program"], {})
    assert signal.getsignal(signal.SIGTERM) == before


async def test_a_signal_that_comes_before_the_child_is_kept_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.create_subprocess_exec

    async def slow(*command: str, env: dict[str, str]) -> asyncio.subprocess.Process:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return await real(*command, env=env)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
    source = "import signal; signal.pause()"
    assert await asyncio.wait_for(run_in_foreground([sys.executable, "-c", source], os.environ), LIMIT) == 143


def test_an_interrupt_typed_at_the_terminal_reaches_the_child_once() -> None:
    main, terminal = pty.openpty()
    source = "import os, sys; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n" + HARNESS
    process = subprocess.Popen([sys.executable, "-c", source, COUNT], stdin=terminal, stdout=subprocess.PIPE, text=True)
    os.close(terminal)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.write(main, b"\x03")
        out, _ = process.communicate(timeout=LIMIT)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(main)
    assert out == "once\ncode 0\n"
