"""Two proxies of one user: a call that the user approved is run once, whichever of them is told so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

from support.proxy import Json, Proxy, provider, running_proxy
from support.sdk_mcp_server import HttpMcpServer
from support.turns import Call, Say
from support.upstream import Upstream


async def asked(proxy: Proxy, **fields: object) -> tuple[int, Json]:
    """One blocking turn: status and answer."""
    body = {"model": "m", "tools": [{"type": "mcp", "server_label": "local", "require_approval": "always"}], **fields}
    async with aiohttp.ClientSession() as session, session.post(f"{proxy.url}/v1/responses", json=body) as response:
        return response.status, await response.json()


async def test_a_call_is_run_once_by_all_proxies_on_a_store(tmp_path: Path) -> None:
    turns = Call("mcp__local__add", {"a": 1, "b": 2}), Say("Three.")
    async with HttpMcpServer() as server, Upstream(*turns) as upstream:
        config = {
            "providers": [provider("up", upstream.url, "chat", models=["m"])],
            "tools": {"mcp": {"servers": {"local": {"url": server.url}}}},
        }
        async with running_proxy(config, tmp_path) as one, running_proxy(config, tmp_path) as two:
            _, first = await asked(one, input="Add.")
            approved = {"type": "mcp_approval_response", "approve": True}
            approved["approval_request_id"] = first["output"][-1]["id"]
            follow = {"previous_response_id": first["id"], "input": [approved]}
            answers = await asyncio.gather(*(asked(proxy, **follow) for proxy in (one, two) for _ in range(3)))
            answers += [await asked(two, **follow)]
    assert server.added == [(1, 2)]
    good = [answer["output"][0] for status, answer in answers if status == 200]
    bad = [answer["error"] for status, answer in answers if status != 200]
    assert good
    assert {item["output"] for item in good} == {"3"}
    assert {error["param"] for error in bad} <= {"input[0].approval_request_id"}
    assert answers[-1][0] == 200
