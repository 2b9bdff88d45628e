"""What the workloads are run against: the proxy of this tree, the pipe, and on demand other proxies."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .load import Subject
from .processes import BenchError, Server, free_port, running
from .workloads import Size, Workload, chat_body, responses_body

ROOT = Path(__file__).parents[2]
PEER_PROGRAMS = ROOT / ".venv-bench" / "bin"
RESPONSES, CHAT = "/v1/responses", "/v1/chat/completions"

PROXY, PIPE, DIRECT = "proxy", "pipe", "direct"
PEER_LETTERS = {"agentic-server": "ABJRTP", "codex-relay": "C"}
"""The other proxies and the workloads they can do."""


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
        """What to ask it in a workload. The pipe gets what the upstream speaks, all others Responses."""
        model = workload.scenario(size).model
        if workload.chat and self.name in (PIPE, DIRECT):
            return Subject(self.name, self.server.url, CHAT, chat_body(model), self.pid)
        if self.name == PROXY:
            model = f"{'chat' if workload.chat else 'resp'}/{model}"
        body = responses_body(model, stream=workload.stream)
        return Subject(self.name, self.server.url, RESPONSES, body, self.pid)

    @property
    def pid(self) -> int | None:
        """The process to measure; none for the upstream, whose cost is not the question."""
        return None if self.name == DIRECT else self.server.pid

    def restores(self, workload: Workload) -> bool:
        """Whether its stream is a Responses stream with the client's own tools, and can be checked as such."""
        return self.name not in (PIPE, DIRECT) and workload.stream


def proxy_config(upstream: str, folder: Path) -> dict[str, object]:
    """A configuration with one Responses and one Chat upstream."""
    both = (("resp", "openai", "responses"), ("chat", "openai-compatible", "chat"))
    return {
        "store": {"url": f"sqlite:///{folder / 'state.db'}"},
        "providers": [
            {"name": name, "type": kind, "wire": wire, "base_url": f"{upstream}/v1", "api_key": "sk-bench"}
            for name, kind, wire in both
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
        yield Target(server, "ABCJRTP")


@contextlib.contextmanager
def proxy(upstream: str, folder: Path, core: int) -> Iterator[Target]:
    """The proxy of this tree, with a database of its own."""
    home = folder / PROXY
    home.mkdir()
    config = home / "config.yaml"
    config.write_text(json.dumps(proxy_config(upstream, home)))  # JSON is YAML
    command = [sys.executable, "-m", "agentic_proxy", "serve", "--config", str(config), "--port", "0"]
    with running(PROXY, command, core=core, folder=home, cwd=ROOT) as server:
        yield Target(server, "ABCJRTP")


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
