"""The entry point of the frozen executable: what a program in PyInstaller's hands has to put right, then ``main``.

The one-file form is two processes: the bootloader unpacks into a temporary folder, starts the program, forwards the
signals it gets, and deletes the folder when the program has ended. If the bootloader is killed, the program has to
end by itself and to clean up.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from agentic_proxy.cli.child_env import child_environment
from agentic_proxy.cli.main import main

PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""
POLL_SECONDS = 1.0


def run() -> int:
    """Run the command line; the process's exit code. Raises SystemExit as ``main`` does."""
    # The dynamic linker read its paths when this process started; from now on only children look at them.
    restored = child_environment(os.environ)
    for name in os.environ.keys() - restored.keys():
        del os.environ[name]
    os.environ.update(restored)
    unpacked = unpacked_folder()
    if unpacked is None or sys.platform == "win32":
        return main()
    bootloader = os.getppid()
    if sys.argv[1:2] == ["serve"]:
        leave_the_terminal()
    end_with(bootloader)
    try:
        return main()
    finally:
        if os.getppid() != bootloader:
            _remove(unpacked)


def unpacked_folder() -> Path | None:
    """The temporary folder of a one-file program; None for a one-dir program and for one that is not frozen."""
    folder = getattr(sys, "_MEIPASS", None)
    if folder is None:
        return None
    path = Path(folder).resolve()
    return None if Path(sys.executable).resolve().parent in path.parents else path


def leave_the_terminal() -> None:
    """Get the terminal's Ctrl-C once, from the bootloader, and not a second time from the terminal itself: two mean
    "at once, without a drain". A server reads nothing from the terminal; it may go on writing to it."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.setpgid(0, 0)
    except OSError:
        pass  # the leader of a session: no terminal sends it a second one


def end_with(parent: int) -> None:
    """Get SIGTERM when the process ``parent``, which is this one's, has ended."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if not _runs_this_program(parent):
            os.kill(os.getpid(), signal.SIGTERM)  # it ended before the signal was asked for
    else:
        threading.Thread(target=_watch, args=(parent, POLL_SECONDS), daemon=True).start()


def _runs_this_program(process: int) -> bool:
    try:
        return os.readlink(f"/proc/{process}/exe") == os.readlink("/proc/self/exe")
    except OSError:
        return not os.path.exists("/proc/self/exe")


def _watch(parent: int, seconds: float) -> None:
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(seconds)
    os.kill(os.getpid(), signal.SIGTERM)


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(run())
