"""The entry point of the frozen program, one precaution at a time; tests/frozen tries the built program itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_proxy.cli import frozen
from support.source import ROOT

SECONDS = 20.0
ORPHAN = """
import os, sys, time
from agentic_proxy.cli import frozen
{prepare}
child = os.fork()
if child == 0:
    {follow}
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(20)
    os.write(1, b"it lives on\\n")
    os._exit(0)
time.sleep(60)
"""


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["agentic-proxy", *arguments])
    return frozen.run()


def pretend_one_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the bootloader had unpacked the program into ``folder``."""
    folder.mkdir()
    monkeypatch.setattr(sys, "_MEIPASS", str(folder), raising=False)
    monkeypatch.setattr(frozen, "end_with", lambda parent: None)


@pytest.mark.parametrize(
    ("unpacked", "executable", "found"),
    [("tmp/_MEI1", "bin/agentic-proxy", True), ("app/_internal", "app/agentic-proxy", False)],
)
def test_only_a_one_file_program_has_an_unpacked_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpacked: str, executable: str, found: bool
) -> None:
    assert frozen.unpacked_folder() is None
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path / unpacked), raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / executable))
    assert frozen.unpacked_folder() == (tmp_path / unpacked if found else None)


def test_its_own_environment_is_the_users_before_a_command_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_PYI_ARCHIVE_FILE", "/bin/agentic-proxy")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/tmp/_MEI1")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/opt/lib")
    with pytest.raises(SystemExit) as ended:
        run("--version", monkeypatch=monkeypatch)
    assert (ended.value.code, capsys.readouterr().out[:14]) == (0, "agentic-proxy ")
    found = {name: os.environ.get(name) for name in ("_PYI_ARCHIVE_FILE", "LD_LIBRARY_PATH", "LD_LIBRARY_PATH_ORIG")}
    assert found == {"_PYI_ARCHIVE_FILE": None, "LD_LIBRARY_PATH": "/opt/lib", "LD_LIBRARY_PATH_ORIG": None}


@pytest.mark.parametrize("parents", [(7, 7), (7, 1)], ids=["bootloader_lives", "bootloader_killed"])
def test_it_deletes_its_folder_only_when_the_bootloader_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], parents: tuple[int, int]
) -> None:
    pretend_one_file(tmp_path / "_MEI1", monkeypatch)
    remaining = iter(parents)
    monkeypatch.setattr(os, "getppid", lambda: next(remaining))
    with pytest.raises(SystemExit):
        run("--version", monkeypatch=monkeypatch)
    assert (tmp_path / "_MEI1").exists() == (parents[0] == parents[1])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("command", "left"), [("serve", True), ("config", False)])
def test_only_a_server_leaves_the_terminal_to_the_bootloader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, left: bool
) -> None:
    pretend_one_file(tmp_path / "_MEI1", monkeypatch)
    calls: list[str] = []
    monkeypatch.setattr(frozen, "leave_the_terminal", lambda: calls.append("left"))
    monkeypatch.setattr(frozen, "main", lambda: calls.append("ran") or 3)
    assert run(command, monkeypatch=monkeypatch) == 3
    assert calls == (["left", "ran"] if left else ["ran"])


def test_a_server_that_left_the_terminal_has_its_own_process_group_and_may_write() -> None:
    source = """
import os, signal
from agentic_proxy.cli import frozen
frozen.leave_the_terminal()
print(os.getpgrp() == os.getpid(), signal.getsignal(signal.SIGTTOU) is signal.SIG_IGN)
"""
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


@pytest.mark.parametrize(
    ("prepare", "follow"),
    [
        ("", "frozen.end_with(os.getppid())"),
        ("sys.platform = 'darwin'; frozen.POLL_SECONDS = 0.01", "frozen.end_with(os.getppid())"),
    ],
    ids=["linux", "elsewhere"],
)
def test_a_program_ends_soon_after_its_bootloader_was_killed(prepare: str, follow: str) -> None:
    source = ORPHAN.format(prepare=prepare, follow=follow)
    parent = subprocess.Popen([sys.executable, "-c", source], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline().strip().isdecimal()
    parent.send_signal(signal.SIGKILL)
    # The pipe ends when nobody holds it any more: neither the killed process nor its child.
    assert parent.stdout.read() == ""
    assert parent.wait(SECONDS) == -signal.SIGKILL
    parent.stdout.close()


def test_a_program_whose_bootloader_was_killed_before_ends_at_once() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait(SECONDS)
    source = f"from agentic_proxy.cli import frozen; frozen.end_with({gone.pid}); print('lives')"
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")
