"""A closed terminal ends the proxy as it always did, and a signal alone does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from agentic_proxy.cli.hangup import Terminal
from support.command_line import LIMIT, PROGRAM, environment

ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes its standard input the terminal of its session, and becomes the program that follows."""


def test_a_process_without_a_terminal_has_none_that_could_go() -> None:
    code = "from agentic_proxy.cli.hangup import Terminal; print(Terminal().is_gone())"
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert done.stdout == b"False\n"


def test_a_terminal_that_is_there_is_not_gone_and_writing_works_after_it_went(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    kept = os.dup(0)
    os.dup2(theirs, 0)
    try:
        terminal = Terminal()
        assert not terminal.is_gone()
        os.close(ours)
        assert terminal.is_gone()
        assert os.write(0, b"to nowhere") == 10
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(theirs)


def test_closing_the_terminal_ends_the_proxy_and_the_signal_alone_reloads(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("providers: [{name: demo, type: demo}]\n")
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, *PROGRAM, "serve", "--config", str(file), "--port", "0"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(tmp_path / "home"),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        said = b""
        while b"listening on" not in said:
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGHUP)
        while b"configuration reloaded: no setting has changed" not in said:
            said += os.read(ours, 4096)
        assert process.poll() is None
        os.close(ours)
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        process.wait()
