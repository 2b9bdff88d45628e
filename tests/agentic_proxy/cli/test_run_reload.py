"""``run``: its own proxy takes up a change of the configuration while the client runs, and tells its log."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp

from support.command_line import PROGRAM, environment
from support.engines import eventually
from support.fake_client import FakeClient
from support.proxy import provider
from support.raw_upstream import RawUpstream
from support.turns import Say
from support.websocket import PATH, played

LIMIT = 30.0


async def test_the_client_goes_on_with_the_new_configuration_and_its_own_token(tmp_path: Path) -> None:
    client, file = FakeClient(tmp_path / "client", "wait"), tmp_path / "config.yaml"
    async with RawUpstream(played(Say("one"))) as one, RawUpstream(played(Say("two"))) as two:

        def write(upstream: RawUpstream) -> None:
            entry = provider("up", upstream.url, "responses", models=["m"])
            file.write_text(json.dumps({"providers": [entry], "server": {"api_keys": ["canary-of-the-user"]}}))

        write(one)
        process = await asyncio.create_subprocess_exec(
            *(*PROGRAM, "run", "codex", "--config", str(file)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(tmp_path / "home", **client.environment),
        )
        try:
            assert process.stdout is not None
            assert await asyncio.wait_for(process.stdout.readline(), LIMIT) == b"ready\n"
            url = client.seen["config"]["model_providers"]["agentic-proxy"]["base_url"].removesuffix("/v1")
            keys = client.seen["environment"]["AGENTIC_PROXY_API_KEY"], "canary-of-the-user"
            (log,) = (tmp_path / "home" / ".local" / "state" / "agentic_proxy" / "logs").iterdir()

            async def ask(key: str) -> tuple[int, str]:
                headers = {"Authorization": f"Bearer {key}"}
                body = {"model": "m", "input": "hi"}
                async with aiohttp.request("POST", url + PATH, json=body, headers=headers) as answer:
                    found = await answer.json()
                return answer.status, found["output"][0]["content"][0]["text"] if answer.status == 200 else ""

            assert [await ask(key) for key in keys] == [(200, "one"), (401, "")]
            write(two)
            said = "configuration reloaded: providers: up changed (base_url)"
            await eventually(lambda: said in log.read_text())
            assert [await ask(key) for key in keys] == [(200, "two"), (401, "")]
            file.write_text("x: 1")
            await eventually(lambda: "configuration not reloaded" in log.read_text())
            assert f"{file}: x: unknown key" in log.read_text()
            assert [await ask(key) for key in keys] == [(200, "two"), (401, "")]
            process.terminate()
            _, err = await asyncio.wait_for(process.communicate(), LIMIT)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert b"configuration" not in err, "the terminal is the client's"
