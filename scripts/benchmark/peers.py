"""What the workloads are run against: the proxy of this tree, the pipe, and on demand other proxies."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .bodies import request_body
from .load import Subject
from .processes import BenchError, Server, free_port, running
from .workloads import WORKLOADS, Size, Wire, Workload

ROOT = Path(__file__).parents[2]
PEER_PROGRAMS = ROOT / ".venv-bench" / "bin"
PATHS: dict[Wire, str] = {"responses": "/v1/responses", "chat": "/v1/chat/completions", "messages": "/v1/messages"}

PROXY, PIPE, DIRECT = "proxy", "pipe", "direct"
PEER_LETTERS = {"agentic-server": "ABJRTP", "codex-relay": "C"}
"""The other proxies and the workloads they can do."""
ALL = "".join(workload.letter for workload in WORKLOADS)


@dataclass(frozen=True, slots=True)
class Target:
    """A running server and the workloads it can do."""

    server: Server
    letters: str

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.server.name

    def subject(self, workload: Workload, size: Size) -> Subject:
        """What to ask it in a workload. The pipe gets what the upstream speaks, all others what the client speaks."""
        model = workload.scenario(size).model
        wire = workload.upstream if self.name in (PIPE, DIRECT) else workload.client
        if self.name == PROXY:
            model = f"{workload.upstream}/{model}"
        body = request_body(wire, model, stream=workload.stream)
        return Subject(self.name, self.server.url, PATHS[wire], body, self.pid)

    @property
    def pid(self) -> int | None:
        """The process to measure; none for the upstream, whose cost is not the question."""
        return None if self.name == DIRECT else self.server.pid

    def restores(self, workload: Workload) -> bool:
        """Whether its stream brings the answer in the client's format, and can be checked as such."""
        return self.name not in (PIPE, DIRECT) and workload.stream


def proxy_config(upstream: str, folder: Path) -> dict[str, object]:
    """A configuration with one upstream for each format, named after it."""
    kinds = {"responses": "openai", "chat": "openai-compatible", "messages": "anthropic"}
    return {
        "store": {"url": f"sqlite:///{folder / 'state.db'}"},
        "providers": [
            {"name": wire, "type": kind, "wire": wire, "base_url": f"{upstream}/v1", "api_key": "sk-bench"}
            for wire, kind in kinds.items()
        ],
    }


@contextlib.contextmanager
def scripted_upstream(folder: Path, core: int) -> Iterator[Server]:
    """The scripted model server."""
    command = [sys.executable, "-m", "benchmark.upstream"]
    with running(DIRECT, command, core=core, folder=folder / DIRECT, cwd=ROOT / "scripts") as server:
        yield server


@contextlib.contextmanager
def pipe(upstream: str, folder: Path, core: int) -> Iterator[Target]:
    """The aiohttp byte pipe."""
    command = [sys.executable, "-m", "benchmark.pipe", upstream]
    with running(PIPE, command, core=core, folder=folder / PIPE, cwd=ROOT / "scripts") as server:
        yield Target(server, ALL)


@contextlib.contextmanager
def proxy(upstream: str, folder: Path, core: int) -> Iterator[Target]:
    """The proxy of this tree, with a database of its own."""
    home = folder / PROXY
    home.mkdir()
    config = home / "config.yaml"
    config.write_text(json.dumps(proxy_config(upstream, home)))  # JSON is YAML
    command = [sys.executable, "-m", "agentic_proxy", "serve", "--config", str(config), "--port", "0"]
    with running(PROXY, command, core=core, folder=home, cwd=ROOT) as server:
        yield Target(server, ALL)


def peer_command(name: str, upstream: str, folder: Path, port: int) -> list[str]:
    """How a peer is started. Raises BenchError when it is not installed."""
    program = PEER_PROGRAMS / name
    if not program.exists():
        raise BenchError(f"{name} is not installed in .venv-bench: run scripts/bench --peers, which installs it")
    if name == "agentic-server":
        where = ["--llm-api-base", upstream, "--gateway-host", "127.0.0.1", "--gateway-port", str(port)]
        state = ["--skip-llm-ready-check", "--db-url", f"sqlite://{folder}/agentic.db?mode=rwc"]
        return [str(program), *where, *state]
    where = ["--bind", "127.0.0.1", "--port", str(port), "--upstream", f"{upstream}/v1"]
    return [str(program), *where, "--api-key", "sk-bench"]


@contextlib.contextmanager
def peers(upstream: str, folder: Path, core: int) -> Iterator[list[Target]]:
    """All other proxies, from ``.venv-bench``."""
    with contextlib.ExitStack() as stack:
        targets = []
        for name, letters in PEER_LETTERS.items():
            home, port = folder / name, free_port()
            command = peer_command(name, upstream, home, port)
            env = {"RUST_LOG": "error", "OPENAI_API_KEY": "sk-bench"}
            started = running(name, command, core=core, folder=home, cwd=folder, env=env, port=port)
            targets.append(Target(stack.enter_context(started), letters))
        yield targets
