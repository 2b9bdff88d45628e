#!/usr/bin/env python3
"""Tries a built program as its users will:  scripts/selftest.py PROGRAM

Prints a line for each check and each measured goal, and ends with 1 at the first check that fails. Needs nothing but
Python's standard library; the program gets a home, a temporary folder and a free port of its own.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import pty
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from selftest_upstream import CHAT_PATCH, Upstream

Json: TypeAlias = dict[str, Any]

SECONDS = 30.0
"""For everything that is waited for."""
GOALS = {  # one-file, one-dir
    "size (MB)": (25.0, None),
    "--version (s)": (0.6, 0.2),
    "ready (s)": (1.2, 0.6),
    "idle memory, Pss of all processes (MB)": (80.0, 80.0),
}
RUNS = 5
LIBRARIES = "/opt/somewhere/lib"
KEY = "sk-selftest-upstream"
DEMO_PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+Hello from the demo model.\n*** End Patch"
PLUGIN = """
from dataclasses import replace

from agentic_proxy.config.provider_types import ProviderType
from agentic_proxy.engine.plugins import Registries
from agentic_proxy.executors.openai_compat import OpenAICompatible
from translators.dialects.generic import GENERIC

PLUGIN_API = 1


class Selftest(OpenAICompatible):
    own_headers = {"X-Selftest": "plugin"}


def register(registries: Registries) -> None:
    dialect = replace(GENERIC, max_tokens_field="max_completion_tokens")
    kind = ProviderType(None, "chat", frozenset({"chat"}))
    registries.register_provider("selftest", kind, dialect=lambda model: dialect, executor=Selftest)
"""
TOOL = {"type": "custom", "name": "apply_patch", "description": "Edits files.", "format": {"type": "text"}}


class Bench:
    """The program under test, with its own folders and upstream."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.one_file = not (program.parent / "_internal").exists()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.seen_by_children = folder / "child.env"
        self.upstream = Upstream()
        address = f"http://127.0.0.1:{self.upstream.server_port}/v1"
        command = ["sh", "-c", f"env > {self.seen_by_children}; echo {KEY}"]
        local = {"type": "openai-compatible", "models": ["m"]}
        providers = [
            {"name": "demo", "type": "demo"},
            {"name": "chat", **local, "base_url": address, "api_key_command": command},
            {"name": "plugged", "type": "selftest", "models": ["m"], "base_url": address},
            {"name": "tls", **local, "base_url": address.replace("http:", "https:")},
        ]
        self.config = folder / "config.yaml"
        plugin = folder / "plugin.py"
        plugin.write_text(PLUGIN, "utf-8")
        plugin.chmod(0o600)
        whole = {"plugins": [plugin.name], "providers": providers, "retries": {"same_candidate": 0}}
        self.config.write_text(json.dumps(whole), "utf-8")  # JSON is YAML
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": LIBRARIES,
        }
        self.measured: dict[str, float] = {"size (MB)": program.stat().st_size / 1e6}
        self.port = 0

    @property
    def command(self) -> list[str]:
        return [str(self.program), "serve", "--config", str(self.config), "--port", "0"]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=SECONDS)

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        """The program once it listens on ``port``; killed afterwards if it still runs."""
        started = time.perf_counter()
        process = subprocess.Popen(
            self.command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            self.measured.setdefault("ready (s)", time.perf_counter() - started)
            self.port = listening_port(line)
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def ask(self, method: str, path: str, body: Json | bytes | None = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        connection.request(method, path, data, {"content-type": "application/json", **headers})
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def stream(self, **fields: Any) -> list[Json]:
        """The events of one streamed turn."""
        status, data = self.ask("POST", "/v1/responses", {"stream": True, "tools": [TOOL], **fields})
        assert status == 200, data
        frames = [frame.partition(b"data: ")[2] for frame in data.split(b"\n\n") if frame]
        assert frames[-1] == b"[DONE]", data[-200:]
        events: list[Json] = [json.loads(frame) for frame in frames[:-1]]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        return events


def listening_port(line: str) -> int:
    found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
    assert found, f"instead of listening it said: {line}"
    return int(found[1])


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {SECONDS:g} seconds: {what}"
        time.sleep(0.02)


def patch_of(events: list[Json]) -> tuple[str, str]:
    """The custom call of a turn, after checking how it arrived: its tool and its text."""
    kinds = list(dict.fromkeys(event["type"].removeprefix("response.") for event in events))
    assert kinds == [
        *("created", "in_progress", "output_item.added", "custom_tool_call_input.delta"),
        *("custom_tool_call_input.done", "output_item.done", "completed"),
    ], kinds
    deltas = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
    done = next(event["item"] for event in events if event["type"] == "response.output_item.done")
    assert len(deltas) > 1, "the patch did not stream"
    assert "".join(deltas) == done["input"]
    assert (done["type"], events[-1]["response"]["output"]) == ("custom_tool_call", [done])
    return done["name"], done["input"]


def processes_of(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(each for child in children for each in processes_of(int(child)))]


def proportional_memory(process: int) -> float:
    """Pss of the process and all below it in MB."""
    rows = [
        row for each in processes_of(process) for row in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
    ]
    return sum(int(row.split()[1]) for row in rows if row.startswith("Pss:")) * 1024 / 1e6


def exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    # Killed, but not yet collected by whoever adopted it.
    return ") Z " not in Path(f"/proc/{process}/stat").read_text()


# The checks, in their order.


def version(bench: Bench) -> None:
    spent = []
    for _ in range(RUNS):
        started = time.perf_counter()
        done = bench.run("--version")
        spent.append(time.perf_counter() - started)
        assert re.fullmatch(r"agentic-proxy \S+ \(Python \S+, frozen\)\n", done.stdout), done
        assert (done.returncode, done.stderr) == (0, ""), done
    bench.measured["--version (s)"] = statistics.median(spent)


def wrong_configuration(bench: Bench) -> None:
    wrong = bench.config.with_name("wrong.yaml")
    wrong.write_text("sever: {}\n", encoding="utf-8")
    done = bench.run("serve", "--config", str(wrong))
    assert done.returncode == 78, done
    assert "server" in done.stderr and "wrong.yaml" in done.stderr, done.stderr


def health(bench: Bench) -> None:
    assert bench.ask("GET", "/health") == (200, b'{"status":"ok"}')
    status, body = bench.ask("GET", "/v1/models")
    assert status == 200 and b"demo/demo" in body, body


def patch_through_demo(bench: Bench) -> None:
    events = bench.stream(model="demo/demo", input="create hello.txt")
    assert patch_of(events) == ("apply_patch", DEMO_PATCH)
    call = events[-1]["response"]["output"][0]
    output = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "Success."}
    history = [{"role": "user", "content": "create hello.txt"}, call, output]
    (message,) = bench.stream(model="demo/demo", input=history)[-1]["response"]["output"]
    assert message["content"][0]["text"] == "Done. The tool answered: Success.", message


def patch_through_a_chat_upstream(bench: Bench) -> None:
    assert patch_of(bench.stream(model="chat/m", input="Edit a.py")) == ("apply_patch", CHAT_PATCH)
    ((headers, body),) = bench.upstream.requests
    assert headers["authorization"] == f"Bearer {KEY}"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["apply_patch"], body


def plugin_file(bench: Bench) -> None:
    """A provider type that only the plugin knows: its executor and its dialect."""
    events = bench.stream(model="plugged/m", input="Edit a.py", max_output_tokens=9)
    assert patch_of(events) == ("apply_patch", CHAT_PATCH)
    headers, body = bench.upstream.requests[-1]
    assert (headers["x-selftest"], body["max_completion_tokens"]) == ("plugin", 9), (headers, body)


def tls_client(bench: Bench) -> None:
    """An upstream that does not speak TLS is told apart from a program that lacks its certificates."""
    status, body = bench.ask("POST", "/v1/responses", {"model": "tls/m", "input": "hi"})
    assert status == 502 and b"upstream_unreachable" in body, (status, body)


def zstd_body(bench: Bench) -> None:
    """One frame with one raw block (RFC 8878), which any decoder must understand."""
    body = b'{"model":"demo/demo","input":"hi"}'
    size = len(body)
    frame = b"\x28\xb5\x2f\xfd\x20" + bytes([size]) + (size << 3 | 1).to_bytes(3, "little") + body
    status, answer = bench.ask("POST", "/v1/responses", frame, **{"content-encoding": "zstd"})
    assert status == 200 and b"not a model" in answer, answer


def environment_of_children(bench: Bench) -> None:
    rows = dict(row.split("=", 1) for row in bench.seen_by_children.read_text().splitlines() if "=" in row)
    assert rows["LD_LIBRARY_PATH"] == LIBRARIES, rows
    assert [name for name in rows if name.startswith("_PYI") or name.endswith("_ORIG")] == [], rows


def usage_with_prices(bench: Bench) -> None:
    def providers() -> set[str]:
        done = bench.run("usage", "--config", str(bench.config), "--by", "provider", "--json")
        assert done.returncode == 0, done.stderr
        return {row["provider"] for row in json.loads(done.stdout)["rows"]}

    wait_until(lambda: {"demo", "chat"} <= providers(), "the requests are not summed up")


def terminate(bench: Bench, process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=SECONDS)
    assert (process.returncode, stdout) == (0, ""), (process.returncode, stdout, stderr)
    assert "Traceback" not in stderr, stderr
    nothing_left(bench)


def nothing_left(bench: Bench) -> None:
    assert list(bench.temporary.iterdir()) == []


def killed_parent_leaves_nothing(bench: Bench) -> None:
    with bench.serving() as process:
        below = processes_of(process.pid)[1:]
        assert below or not bench.one_file
        process.kill()
        wait_until(lambda: not any(map(exists, below)), f"processes {below} outlive the one that was killed")
    nothing_left(bench)


def one_interrupt_drains(bench: Bench) -> None:
    """Ctrl-C in a terminal: the running answer is finished, then the program ends with 130."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(bench.program, bench.command, bench.environment)
    said = b""
    while not said.endswith(b"\n"):
        said += os.read(terminal, 4096)
    bench.port = listening_port(said.decode())
    connection = http.client.HTTPConnection("127.0.0.1", bench.port, timeout=SECONDS)
    body = json.dumps({"model": "demo/demo", "input": "hi", "stream": True})
    connection.request("POST", "/v1/responses", body, {"content-type": "application/json"})
    response = connection.getresponse()
    assert response.read(1)
    os.write(terminal, b"\x03")
    rest = response.read()
    assert rest.endswith(b"data: [DONE]\n\n"), rest[-200:]
    connection.close()
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130, status
    nothing_left(bench)


WHILE_SERVING: tuple[Callable[[Bench], None], ...] = (
    *(health, patch_through_demo, patch_through_a_chat_upstream, plugin_file, tls_client, zstd_body),
    *(environment_of_children, usage_with_prices),
)


def check(name: str, act: Callable[[], None]) -> None:
    started = time.perf_counter()
    try:
        act()
    except Exception as error:
        print(f"FAILED  {name.replace('_', ' ')}: {type(error).__name__}: {error}", flush=True)
        raise SystemExit(1) from error
    print(f"ok  {name.replace('_', ' ')} ({time.perf_counter() - started:.2f} s)", flush=True)


def report(bench: Bench) -> None:
    for name, goals in GOALS.items():
        goal = goals[0 if bench.one_file else 1]
        if goal is not None:
            value = bench.measured[name]
            print(f"goal  {name}: {value:.2f} of {goal:g}{'' if value <= goal else '  MISSED'}", flush=True)
    size = bench.measured["size (MB)"]
    assert not bench.one_file or size <= GOALS["size (MB)"][0], f"the program has {size:.1f} MB"


def main() -> None:
    program = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="agentic-proxy-selftest-") as folder:
        bench = Bench(program, Path(folder))
        print(f"self-test of the {'one-file' if bench.one_file else 'one-dir'} program", flush=True)
        check("version", lambda: version(bench))
        check("wrong_configuration", lambda: wrong_configuration(bench))
        with bench.serving() as process:
            bench.measured["idle memory, Pss of all processes (MB)"] = proportional_memory(process.pid)
            for act in WHILE_SERVING:
                check(act.__name__, lambda act=act: act(bench))
            check("terminate", lambda: terminate(bench, process))
        check("killed_parent_leaves_nothing", lambda: killed_parent_leaves_nothing(bench))
        check("one_interrupt_drains", lambda: one_interrupt_drains(bench))
        check("goals", lambda: report(bench))


if __name__ == "__main__":
    main()
