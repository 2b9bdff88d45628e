"""Processes that are measured: started on a core of their own, their CPU time read to the nanosecond."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

READY = re.compile(r"listening on (http://\S+)")
START_LIMIT = 30.0
STOP_LIMIT = 5.0
TICK = 1 / os.sysconf("SC_CLK_TCK")
SETTLE_STEP, SETTLE_LIMIT = 0.03, 1.0


class BenchError(Exception):
    """A figure cannot be had; the message is for the person who ran the benchmark."""


async def serve_until_terminated(port: int) -> None:
    """Say on standard error where this process listens, as the proxy does, and wait for SIGTERM."""
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
    await done.wait()


def cores() -> tuple[int, int]:
    """The core of the load generator and the upstream, and that of the proxy; one and the same when there is one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


@contextlib.contextmanager
def on_core(core: int) -> Iterator[None]:
    """Run on one core; what is started meanwhile stays there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def free_port() -> int:
    """A loopback port that is free now; for programs that cannot choose one themselves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Server:
    """A running program that listens."""

    name: str
    url: str
    pid: int


def last_lines(log: Path) -> str:
    return log.read_text(errors="replace")[-1000:].strip()


def wait_until_ready(name: str, process: subprocess.Popen[bytes], log: Path, port: int | None) -> str:
    """The address: as the program says it, or at the port it was given once that takes connections.

    Raises BenchError when the program ends or does not listen within 30 s.
    """
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end:
        if process.poll() is not None:
            raise BenchError(f"{name} ended with exit code {process.returncode}:\n{last_lines(log)}")
        if port is None:
            said = READY.search(log.read_text(errors="replace"))
            if said is not None:
                return said[1]
        else:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}"
        time.sleep(0.01)
    raise BenchError(f"{name} did not listen within {START_LIMIT:.0f} s:\n{last_lines(log)}")


@contextlib.contextmanager
def running(
    name: str,
    command: list[str],
    *,
    core: int,
    folder: Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[Server]:
    """Start a program and stop it in the end, with all that it started.

    Its home and state folders are ``folder``; ``port`` is given for a program that does not say where it listens.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.txt"
    state = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), str(folder))
    environ = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", **state, **(env or {})}
    with log.open("wb") as output, on_core(core):
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield Server(name, wait_until_ready(name, process, log, port), process.pid)
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a program and its children: SIGTERM, and SIGKILL when that does not help within 5 s."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT)


def tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    found, todo = [], [pid]
    while todo:
        process = todo.pop()
        found.append(process)
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                todo += map(int, task.read_text().split())
    return found


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds, user and system, of a process tree so far."""

    threads: Mapping[tuple[int, int], int]
    """Nanoseconds on a core of every living thread, by process and thread id."""
    ticks: float
    """The same in seconds with the threads that have ended, but in steps of 10 ms."""

    def since(self, before: Spent) -> float:
        """CPU seconds between two readings.

        Exact as long as no thread ends in between; the coarse clock takes over where it shows that one did.
        """
        fine = sum(used - before.threads.get(key, 0) for key, used in self.threads.items()) / 1e9
        return max(fine, self.ticks - before.ticks - 2 * TICK)


def spent(pid: int) -> Spent:
    """Read the CPU time of a process tree."""
    threads: dict[tuple[int, int], int] = {}
    ticks = 0.0
    for process in tree(pid):
        with contextlib.suppress(OSError):
            # The name in the second field may hold spaces: count from the bracket that closes it.
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += (int(fields[11]) + int(fields[12])) * TICK
        for task in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                threads[process, int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return Spent(threads, ticks)


async def settled(pid: int) -> Spent:
    """The CPU time once the process has come to rest, so that work after the answer counts too (1 s at most)."""
    last = spent(pid)
    for _ in range(int(SETTLE_LIMIT / SETTLE_STEP)):
        await asyncio.sleep(SETTLE_STEP)
        now = spent(pid)
        if now.since(last) < 0.0002:
            return now
        last = now
    return last
