"""A round ends with a judged close: calls are released, or refused as one failure; usage is kept either way."""

from __future__ import annotations

from typing import Any

import pytest

from support.breaks import CALL, FRAMES, whole
from support.engines import RecordingSink, body, kept, one_upstream, run_turn
from support.turns import Call, Incomplete, Json, Say

PATCH: Json = {"type": "custom", "name": "apply_patch", "description": "Edit files."}
SENTENCE = "Invalid apply_patch tool arguments received from upstream."
USAGE = (100, 10)


def spent(engine: Any) -> list[tuple[str | None, int, int]]:
    return [(each.code, each.input_tokens, each.output_tokens) for each in engine.usage.records]


def script(wire: str, *items: Any, fault: Any = None) -> Any:
    request: Json = {"model": "m", "stream_options": {"include_usage": True}}
    return whole(b"".join(FRAMES[wire](request, items, fault)))


@pytest.mark.parametrize("wire", ["responses", "chat"])
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.requirement("P2", "R3")
async def test_a_good_call_is_released_with_the_close(wire: str, streaming: bool) -> None:
    async with one_upstream(wire, whole(b"".join(CALL[wire]))) as (engine, _):
        sink = RecordingSink() if streaming else None
        outcome = await run_turn(engine, body(), sink)
        assert outcome.response is not None
        (item,) = outcome.response["output"]
        assert (item["type"], item["name"], item["status"]) == ("function_call", "run", "completed")
        assert spent(engine) == [(None, *USAGE)]
        if sink is not None:
            last = [event["type"] for event in sink.events()][-3:]
            assert last == [
                "response.function_call_arguments.done", "response.output_item.done", "response.completed",
            ]  # fmt: skip
            assert sink.writes[-1].count(b"event: ") >= 3, "held events and terminal leave in one write"


@pytest.mark.parametrize("wire", ["responses", "chat"])
@pytest.mark.parametrize(
    ("tool", "arguments", "asked", "message"),
    [
        (PATCH, '{"input": 7, "secret": "RAW_SECRET"}', 2, SENTENCE),
        (PATCH, '{"input": "x", "secret": "RAW_SECRET', 2, SENTENCE),
        (PATCH, "RAW_SECRET", 2, SENTENCE),
        (None, "[RAW_SECRET", 1, "Invalid arguments for tool 'run' received from upstream"),
    ],
    ids=["wrong_type", "cut_off", "no_json", "function"],
)
@pytest.mark.requirement("AP22")
async def test_an_unusable_call_is_one_failure_that_shows_nothing_of_it(
    wire: str, tool: Json | None, arguments: str, asked: int, message: str
) -> None:
    name = tool["name"] if tool else "run"
    request = body(tools=[tool]) if tool else body()
    async with one_upstream(wire, script(wire, Say("Now. "), Call(name, arguments))) as (engine, upstream):
        stream = await run_turn(engine, request, RecordingSink())
        assert (stream.status, stream.code) == (200, "invalid_tool_arguments")
        assert stream.sink is not None
        assert stream.response is not None
        assert stream.response["error"]["message"].startswith(message)
        assert b"custom_tool_call_input.done" not in stream.sink.data
        assert not any(
            event["type"] == "response.output_item.done" and event["item"]["type"] != "message"
            for event in stream.events
        )
        assert tool is None or b"RAW_SECRET" not in stream.sink.data
        assert "RAW_SECRET" not in stream.response["error"]["message"]
        assert spent(engine) == [("invalid_tool_arguments", *USAGE)] * asked
        assert len(upstream.requests) == asked
        assert set((await kept(engine)).values()) <= {"failed"}


@pytest.mark.parametrize("wire", ["responses", "chat"])
@pytest.mark.parametrize(("tool", "name"), [(PATCH, "apply_patch"), (None, "run")], ids=["patch", "function"])
@pytest.mark.requirement("AP10")
async def test_a_client_that_waits_gets_one_502_for_two_unusable_calls(wire: str, tool: Json | None, name: str) -> None:
    request = body(tools=[tool]) if tool else body()
    async with one_upstream(wire, script(wire, Say("Now. "), Call(name, "[RAW_SECRET"))) as (engine, upstream):
        plain = await run_turn(engine, request, None)
        assert (plain.status, plain.code) == (502, "invalid_tool_arguments")
        assert plain.failure is not None and plain.failure.message.startswith("Invalid ")
        assert "RAW_SECRET" not in str(plain.failure)
        assert spent(engine) == [("invalid_tool_arguments", *USAGE)] * 2
        assert len(upstream.requests) == 2
        assert set((await kept(engine)).values()) <= {"failed"}


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_a_call_cut_off_by_the_length_limit_ends_incomplete_without_it(wire: str) -> None:
    frames = script(wire, Say("Now. "), Call("run", '{"x": '), fault=Incomplete(items=()))
    async with one_upstream(wire, frames) as (engine, _):
        outcome = await run_turn(engine, body(), RecordingSink())
        assert outcome.response is not None
        assert outcome.response["status"] == "incomplete"
        assert outcome.response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert [item["type"] for item in outcome.response["output"]] == ["message"]
        assert spent(engine) == [(None, *USAGE)]
