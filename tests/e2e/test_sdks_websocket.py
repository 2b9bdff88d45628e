"""OpenAI's Python SDK and Agents SDK over a WebSocket, each in front of both kinds of upstream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import agents
import openai
import pytest

from support.proxy import provider, running_proxy
from support.tap import Tap
from support.turns import Call, Say, Turn
from support.upstream import Upstream

WIRES = pytest.mark.parametrize("wire", ["chat", "responses"])
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch"
ADD: Any = {
    "type": "function",
    "name": "add",
    "description": "Adds two integers.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}
APPLY_PATCH: Any = {"type": "custom", "name": "apply_patch", "description": "Edits files."}


@asynccontextmanager
async def sdk(turns: tuple[Turn, ...], wire: str, folder: Path) -> AsyncIterator[tuple[openai.AsyncOpenAI, Upstream]]:
    """A client of the proxy; all it asks must go over one WebSocket."""
    async with Upstream(*turns) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["gpt-5.5"])]}
        async with running_proxy(config, folder) as proxy, Tap(proxy.url) as tap:
            async with openai.AsyncOpenAI(base_url=f"{tap.url}/v1", api_key="sk-client", max_retries=0) as client:
                yield client, upstream
            assert tap.requests == ["GET /v1/responses"]


async def turn(connection: Any, **fields: Any) -> Any:
    """The completed response of one turn."""
    await connection.response.create(model="gpt-5.5", store=False, **fields)
    kinds = []
    async for event in connection:
        kinds.append(event.type)
        if event.type == "response.completed":
            assert kinds[:2] == ["response.created", "response.in_progress"]
            return event.response
        assert event.type not in ("error", "response.failed", "response.incomplete"), event
    raise AssertionError(f"the connection ended after {kinds}")


@WIRES
@pytest.mark.parametrize(
    ("tool", "call", "output_type"),
    [
        (ADD, Call("add", {"a": 40, "b": 2}), "function_call_output"),
        (APPLY_PATCH, Call("apply_patch", {"input": PATCH}), "custom_tool_call_output"),
    ],
    ids=["function", "custom"],
)
async def test_the_openai_sdk_calls_a_tool_and_continues(
    tool: Any, call: Call, output_type: str, wire: str, tmp_path: Path
) -> None:
    async with sdk((call, Say("It is done.")), wire, tmp_path) as (client, upstream):
        async with client.responses.connect() as connection:
            first = await turn(connection, input="Do it.", tools=[tool])
            (made,) = first.output
            if tool is ADD:
                assert (made.type, json.loads(made.arguments)) == ("function_call", call.arguments)
            else:
                assert (made.type, made.input) == ("custom_tool_call", PATCH)
            output = {"type": output_type, "call_id": made.call_id, "output": "ok"}
            last = await turn(connection, input=[output], tools=[tool], previous_response_id=first.id)
        assert last.output_text == "It is done."
        assert len(upstream.posts) == 2


@WIRES
async def test_the_openai_sdk_is_told_what_went_wrong_and_the_connection_goes_on(wire: str, tmp_path: Path) -> None:
    async with sdk((Say("Fine."),), wire, tmp_path) as (client, _), client.responses.connect() as connection:
        await connection.response.create(model="gpt-5.5", input="x", previous_response_id="resp_missing")
        event = await connection.recv()
        assert (event.type, event.error.code, event.status) == ("error", "previous_response_not_found", 400)
        assert (await turn(connection, input="Say fine.")).output_text == "Fine."


@WIRES
async def test_the_agents_sdk_runs_an_agent_over_a_websocket(wire: str, tmp_path: Path) -> None:
    added: list[tuple[int, int]] = []

    @agents.function_tool
    def add(a: int, b: int) -> str:
        """Adds two integers."""
        added.append((a, b))
        return str(a + b)

    async with sdk((Call("add", {"a": 40, "b": 2}), Say("42")), wire, tmp_path) as (client, _):
        source = agents.OpenAIProvider(openai_client=client, use_responses=True, use_responses_websocket=True)
        agent = agents.Agent(name="a", instructions="Add.", model=source.get_model("gpt-5.5"), tools=[add])
        result = agents.Runner.run_streamed(agent, "Add 40 and 2.", run_config=agents.RunConfig(tracing_disabled=True))
        async for _ in result.stream_events():
            pass
        assert (result.final_output, added) == ("42", [(40, 2)])
        await source.aclose()
