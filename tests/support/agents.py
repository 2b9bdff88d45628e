"""Runs real coding agents other than Codex against a base URL, in a home of their own.

A binary is what its variable names, else the one that ``npm ci`` puts into tests/e2e/node_modules; without either a
test that needs it fails. Facts about their settings were measured with Claude Code 2.1.197 and opencode 1.18.33.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path

from support.turns import Call
from support.workspace import Workspace

E2E = Path(__file__).parents[1] / "e2e"
KEY = "sk-client-key-of-a-test"
SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str


def binary(name: str, variable: str) -> str:
    """Path of an agent. Raises FileNotFoundError when there is none."""
    path = Path(os.environ.get(variable) or E2E / "node_modules" / ".bin" / name)
    if not path.exists():
        raise FileNotFoundError(f"no {name} at {path}: run scripts/test, or npm ci in {E2E}, or set {variable}")
    return str(path)


async def run(command: list[str], workspace: Workspace, **environment: str) -> Ran:
    """Run an agent in the workspace. Raises TimeoutError after ``SECONDS``; then the process is killed."""
    home = str(workspace.home)
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=workspace.repo,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "NO_COLOR": "1", **environment},
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ran(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))


async def run_claude(url: str, model: str, workspace: Workspace) -> Ran:
    """Claude Code with its three plain tools."""
    command = [binary("claude", "CLAUDE_BIN"), "-p", "--bare", "--dangerously-skip-permissions", "--model", model]
    return await run(
        [*command, workspace.prompt],
        workspace,
        CLAUDE_CONFIG_DIR=str(workspace.home / "claude"),
        ANTHROPIC_BASE_URL=url,
        ANTHROPIC_API_KEY=KEY,
        ANTHROPIC_SMALL_FAST_MODEL=model,
        IS_SANDBOX="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CODE_MAX_RETRIES="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_TELEMETRY="1",
        DISABLE_ERROR_REPORTING="1",
    )


async def run_opencode(url: str, npm: str, model: str, workspace: Workspace) -> Ran:
    """opencode with one of the packages that speak a format each."""
    limits = {"context": 100_000, "output": 8000}
    provider = {
        "npm": npm,
        "name": "proxy",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {model: {"name": model, "tool_call": True, "limit": limits}},
    }
    settings = {"share": "disabled", "autoupdate": False, "permission": {"*": "allow"}, "provider": {"proxy": provider}}
    (workspace.repo / "opencode.json").write_text(json.dumps(settings))
    command = [binary("opencode", "OPENCODE_BIN"), "run", "-m", f"proxy/{model}", "--auto", workspace.prompt]
    return await run(
        command,
        workspace,
        OPENCODE_DISABLE_AUTOUPDATE="1",
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_DISABLE_LSP_DOWNLOAD="1",
    )


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that finds its settings by itself: ``words`` come before the prompt, ``shell`` is its tool for commands
    with what that tool wants besides the command."""

    name: str
    variable: str
    words: tuple[str, ...]
    shell: str
    extra: tuple[tuple[str, str | bool], ...]
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def binary(self) -> str:
        """Path of its program. Raises FileNotFoundError when there is none."""
        return binary(self.name, self.variable)

    def edit(self, workspace: Workspace) -> Call:
        """The call with which a model makes the change that the workspace asks for."""
        return Call(self.shell, {"command": f"sed -i s/{workspace.old}/{workspace.new}/ hello.txt", **dict(self.extra)})


QUIET = (
    ("IS_SANDBOX", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
)
OFFLINE = (
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
)
AGENTS = {
    agent.name: agent
    for agent in (
        Agent("claude", "CLAUDE_BIN", ("-p", "--dangerously-skip-permissions"), "Bash",
              (("description", "Edit"),), QUIET),
        Agent("opencode", "OPENCODE_BIN", ("run", "--auto"), "bash", (("description", "Edit"),), OFFLINE),
        Agent("qwen", "QWEN_BIN", ("-y",), "run_shell_command", (("is_background", False),)),
    )
}  # fmt: skip
