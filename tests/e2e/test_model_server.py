"""The model server of scripts/run: a real llama.cpp that ends with the program that started it."""

from __future__ import annotations

import asyncio
import os

from agentic_proxy.cli.probe import get, list_models
from support.small_model import ENVIRONMENT, ROOT, START_SECONDS, smollm2

SERVER = ROOT / "scripts" / "model_server.py"
KEY = "sk-of-a-local-server"


async def test_it_serves_the_model_to_who_has_the_key_until_its_standard_input_ends() -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(ENVIRONMENT / "bin" / "python"), str(SERVER), "--model", str(smollm2()), "--alias", "small"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "AGENTIC_PROXY_LOCAL_KEY": KEY},
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), START_SECONDS)).decode().strip()
        assert await list_models(f"{url}/v1", START_SECONDS, KEY) == ["small"]
        assert await get(f"{url}/props", START_SECONDS) is None
        assert await get(f"{url}/props", START_SECONDS, KEY) is not None
        rest, _ = await asyncio.wait_for(process.communicate(b""), START_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, rest) == (0, b"")
