"""The demo as a provider: behind the engine it is an upstream like any other."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.config.model import Provider
from agentic_proxy.executors import demo
from agentic_proxy.executors.demo_model import INTRODUCTION
from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.registry import make_executor
from support.engines import RecordingSink, body, run_turn, running_engine

PROVIDER = Provider(name="trial", type="demo", base_url="", wire="chat")
PATCH = {"type": "custom", "name": "apply_patch", "description": "Edits files.", "format": {"type": "text"}}
DOCUMENT = "*** Begin Patch\n*** Add File: hello.txt\n+Hello from the demo model.\n*** End Patch"


@pytest.fixture(autouse=True)
def at_full_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PACE", 0.0)


async def ask(**changes: Any) -> tuple[dict[str, Any], list[str]]:
    """The response object of one streamed turn, and the kinds of its events without repetition."""
    sink = RecordingSink()
    async with running_engine(PROVIDER) as engine:
        outcome = await run_turn(engine, body(model="demo", **changes), sink)
    assert outcome.response is not None
    return outcome.response, list(dict.fromkeys(sink.kinds()))


async def test_it_says_what_it_is_in_many_deltas() -> None:
    response, kinds = await ask(input="hi", tools=[])
    (message,) = response["output"]
    assert (response["status"], response["model"]) == ("completed", "demo")
    assert message["content"][0]["text"] == INTRODUCTION
    assert "response.output_text.delta" in kinds


async def test_a_custom_apply_patch_comes_back_as_the_client_declared_it() -> None:
    response, kinds = await ask(input="create hello.txt", tools=[PATCH])
    (call,) = response["output"]
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "apply_patch", DOCUMENT)
    assert kinds == [
        *("response.created", "response.in_progress", "response.output_item.added"),
        *("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"),
        *("response.output_item.done", "response.completed"),
    ]


async def test_after_the_tools_answer_it_ends_the_task() -> None:
    history = [
        {"role": "user", "content": "create hello.txt"},
        {"type": "custom_tool_call", "call_id": "call_demo_1", "name": "apply_patch", "input": DOCUMENT},
        {"type": "custom_tool_call_output", "call_id": "call_demo_1", "output": "Success."},
    ]
    response, _ = await ask(input=history, tools=[PATCH])
    assert response["output"][0]["content"][0]["text"] == "Done. The tool answered: Success."


async def test_a_blocking_answer_has_the_same_content() -> None:
    async with running_engine(PROVIDER) as engine:
        outcome = await run_turn(engine, body(model="trial/demo", tools=[]), None)
    assert outcome.response is not None
    assert outcome.response["output"][0]["content"][0]["text"] == INTRODUCTION


async def test_it_needs_no_address_and_lists_its_one_model() -> None:
    transport = HttpTransport(1.0)
    executor = make_executor(PROVIDER, transport)
    assert (executor.wire, executor.where) == ("chat", "Provider 'trial' (the built-in demo)")
    assert await executor.list_models() == ["demo"]
    await transport.close()


async def test_its_answer_can_be_read_at_once_and_closed_early() -> None:
    transport = HttpTransport(1.0)
    executor = make_executor(PROVIDER, transport)
    whole = await executor.open(b'{"messages":[]}', None)
    assert (whole.status, whole.headers["content-type"]) == (200, "text/event-stream")
    assert (await whole.read(1 << 20)).endswith(b"data: [DONE]\n\n")
    early = await executor.open(b'{"messages":[]}', None)
    assert (await early.read_some()).startswith(b"data: {")
    early.finish()
    assert await early.read_some() == b""
    early.close()
    await transport.close()
