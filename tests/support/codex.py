"""Runs the real Codex CLI against a base URL, in a home of its own, and reads what it did.

The binary is ``$CODEX_BIN``, else the one that ``npm ci`` puts into tests/e2e/node_modules; without either a test that
needs it fails. Facts about the configuration were measured with Codex CLI 0.171.0.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
E2E = Path(__file__).parents[1] / "e2e"
API_KEY = "sk-client-key-of-a-test"


def codex_binary() -> str:
    """Path of the Codex CLI. Raises FileNotFoundError when there is none."""
    path = Path(os.environ.get("CODEX_BIN") or E2E / "node_modules" / ".bin" / "codex")
    if not path.exists():
        raise FileNotFoundError(f"no Codex CLI at {path}: run scripts/test, or npm ci in {E2E}, or set CODEX_BIN")
    return str(path)


@dataclass(frozen=True, slots=True)
class Setup:
    """One Codex home. ``catalog`` is written as model_catalog_json; ``catalog_url`` makes Codex fetch the models list
    from the provider; ``websockets`` makes it talk over a socket; ``extra`` and ``provider_extra`` are TOML lines for
    the top and the provider's table."""

    model: str = "gpt-5.5"
    catalog: Json | None = None
    catalog_url: bool = False
    websockets: bool = False
    mcp_servers: dict[str, list[str]] = field(default_factory=dict)
    extra: str = ""
    provider_extra: str = ""
    features_off: tuple[str, ...] = ("plugins",)

    def write(self, home: Path, base_url: str) -> None:
        """Fill ``home`` (CODEX_HOME) for a provider at ``base_url``, which has no path."""
        home.mkdir(parents=True)
        lines = [
            f"model = {json.dumps(self.model)}",
            'model_provider = "proxy"',
            "check_for_update_on_startup = false",
        ]
        if self.catalog is not None:
            (home / "catalog.json").write_text(json.dumps(self.catalog), encoding="utf-8")
            lines.append(f"model_catalog_json = {json.dumps(str(home / 'catalog.json'))}")
        lines += [self.extra, "[analytics]", "enabled = false"]
        for name, command in self.mcp_servers.items():
            lines += [
                f"[mcp_servers.{name}]",
                f"command = {json.dumps(command[0])}",
                f"args = {json.dumps(command[1:])}",
            ]
        lines += [
            "[model_providers.proxy]",
            'name = "proxy"',
            f"base_url = {json.dumps(base_url + '/v1')}",
            'wire_api = "responses"',
            'env_key = "PROXY_KEY"',
            "requires_openai_auth = false",
            f"supports_websockets = {json.dumps(self.websockets)}",
        ]
        if self.catalog_url:
            lines.append(f"model_catalog_url = {json.dumps(base_url + '/v1/models')}")
        lines.append(self.provider_extra)
        (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class CodexRun:
    """What one ``codex exec`` did. ``events`` are its JSON lines, ``seconds`` its wall-clock time."""

    exit_code: int
    events: list[Json]
    stdout: str
    stderr: str
    seconds: float

    def items(self, kind: str) -> list[Json]:
        """The finished items of one type: ``agent_message``, ``file_change``, ``mcp_tool_call`` and so on."""
        finished = (event["item"] for event in self.events if event["type"] == "item.completed")
        return [item for item in finished if item["type"] == kind]

    @property
    def final_text(self) -> str:
        messages = self.items("agent_message")
        return str(messages[-1]["text"]) if messages else ""

    @property
    def reconnects(self) -> int:
        """How often Codex said that it lost a stream and tried again."""
        return sum("Reconnecting" in str(event.get("message")) for event in self.events if event["type"] == "error")

    def __str__(self) -> str:
        return f"codex exit {self.exit_code} after {self.seconds:.1f} s\n{self.stdout[-3000:]}\n{self.stderr[-3000:]}"


async def run_codex(
    base_url: str, prompt: str, *, repo: Path, home: Path, setup: Setup | None = None, timeout: float = 300.0
) -> CodexRun:
    """Run ``codex exec`` in ``repo`` with ``home`` as a fresh directory for everything it writes.

    Args:
        base_url: The proxy, without a path.
        timeout: Seconds; then the whole process group is killed and TimeoutError raised.
    """
    (setup or Setup()).write(home / "codex", base_url)
    (home / "tmp").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1,localhost",
        "CODEX_HOME": str(home / "codex"),
        "PROXY_KEY": API_KEY,
        "RUST_LOG": "error",
    }
    features = [part for name in (setup or Setup()).features_off for part in ("--disable", name)]
    command = [codex_binary(), "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command,
        *features,
        "-C",
        str(repo),
        prompt,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        start_new_session=True,
        limit=16 << 20,
    )
    try:
        stdout, stderr = await asyncio.wait_for(process.communicate(), timeout)
    except (TimeoutError, asyncio.CancelledError):
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    text = stdout.decode()
    return CodexRun(
        exit_code=process.returncode or 0,
        events=[json.loads(line) for line in text.splitlines() if line.startswith("{")],
        stdout=text,
        stderr=stderr.decode(),
        seconds=time.monotonic() - started,
    )
