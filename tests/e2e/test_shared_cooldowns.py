"""Two proxies of one user: what one learns about a provider, the other knows, also after a restart."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp

from support.proxy import Proxy, provider, running_proxy
from support.turns import Say, Status
from support.upstream import Upstream


async def asked(proxy: Proxy) -> str:
    """The text of one blocking turn."""
    async with aiohttp.ClientSession() as session:
        body = {"model": "m", "input": "hi", "store": False}
        async with session.post(f"{proxy.url}/v1/responses", json=body) as response:
            answer: dict[str, Any] = await response.json()
    return str(answer["output"][0]["content"][0]["text"])


async def out(proxy: Proxy) -> list[dict[str, Any]]:
    async with aiohttp.ClientSession() as session, session.get(f"{proxy.url}/ready") as response:
        found: list[dict[str, Any]] = (await response.json())["out"]
    return [{name: row[name] for name in ("provider", "code")} for row in found]


async def until(condition: Any, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            pass


async def models(directory: Path) -> list[dict[str, Any]]:
    """What ``agentic-proxy models`` says of the model."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentic_proxy", "models", "--json", "--config", str(directory / "config.yaml")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory), "LANG": "C.UTF-8"},
    )
    stdout, _ = await process.communicate()
    return [row for row in json.loads(stdout) if row["name"] == "first/m"]


async def test_two_proxies_share_what_they_know_and_keep_it_over_a_restart(tmp_path: Path) -> None:
    async with Upstream(Status(401)) as first, Upstream(Say("hello")) as second:
        config = {
            "providers": [
                provider("first", first.url, "chat", models=["m"]),
                provider("second", second.url, "responses", models=["m"]),
            ]
        }
        refused = [{"provider": "first", "code": "upstream_auth"}]
        async with running_proxy(config, tmp_path) as one, running_proxy(config, tmp_path) as two:
            assert (await out(one), await out(two)) == ([], [])
            assert await asked(one) == "hello"
            assert (len(first.posts), await out(one)) == (1, refused)

            async def known() -> bool:
                return await out(two) == refused

            await until(known)
            assert await asked(two) == "hello"
        async with running_proxy(config, tmp_path) as three:
            assert await asked(three) == "hello"
            assert await out(three) == refused
        assert (len(first.posts), len(second.posts)) == (1, 3)
        (row,) = await models(tmp_path)
        assert [each["code"] for each in row["out"]] == ["upstream_auth"]
        assert all("sk-upstream" not in file.read_text() for file in tmp_path.rglob("cooldowns.json"))
