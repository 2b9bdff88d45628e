"""The model server of scripts/run: a real llama.cpp that ends with the program that started it."""

from __future__ import annotations

import asyncio

from agentic_proxy.cli.probe import list_models
from support.small_model import ENVIRONMENT, ROOT, START_SECONDS, smollm2

SERVER = ROOT / "scripts" / "model_server.py"


async def test_it_serves_the_model_until_its_standard_input_ends() -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(ENVIRONMENT / "bin" / "python"), str(SERVER), "--model", str(smollm2()), "--alias", "small"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), START_SECONDS)).decode().strip()
        assert await list_models(f"{url}/v1", 5.0) == ["small"]
        rest, _ = await asyncio.wait_for(process.communicate(b""), START_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, rest) == (0, b"")
