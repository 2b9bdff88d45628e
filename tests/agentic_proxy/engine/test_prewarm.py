"""A prewarm is kept first and answered then, without an upstream; one that fails leaves nothing, not even what it
would have continued."""

from __future__ import annotations

import json

import orjson
import pytest

from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.store.base import Window
from support.breaks import WHOLE, whole
from support.engines import TOOL, Json, body, kept, one_upstream, run_turn
from translators.failure import Failure

WARM: Json = {"model": "m", "input": "hi", "instructions": "be brief", "tools": [TOOL], "generate": False}


async def warm(engine: Engine, request: Json, local: LocalWindows | None = None) -> list[Json]:
    data = await engine.prewarm(TurnRequest("responses", request, True, local))
    return [json.loads(frame.partition(b"data: ")[2]) for frame in data.split(b"\n\n") if frame]


async def test_it_is_created_and_completed_at_once_with_nothing_in_it() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):
        created, completed = await warm(engine, WARM)
        assert [created["type"], completed["type"]] == ["response.created", "response.completed"]
        assert [created["sequence_number"], completed["sequence_number"]] == [0, 1]
        assert created["response"]["id"] == completed["response"]["id"]
        assert (created["response"]["status"], created["response"]["usage"]) == ("in_progress", None)
        response = completed["response"]
        assert (response["status"], response["output"], response["usage"]["total_tokens"]) == ("completed", [], 0)
        assert await kept(engine) == {response["id"]: "completed"}
        assert upstream.requests == []


async def test_a_stored_prewarm_gives_its_continuation_input_tools_and_instructions() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):
        _, completed = await warm(engine, WARM)
        outcome = await run_turn(
            engine, {"model": "m", "input": "go", "previous_response_id": completed["response"]["id"]}, None
        )
        sent = orjson.loads(upstream.requests[0].body)
    assert outcome.status == 200
    assert [item["content"][0]["text"] for item in sent["input"]] == ["hi", "go"]
    assert (sent["instructions"], [tool["name"] for tool in sent["tools"]]) == ("be brief", ["run"])
    assert "generate" not in sent


@pytest.mark.parametrize("local", [None, LocalWindows(1 << 20)])
async def test_a_request_to_compact_is_no_part_of_what_a_prewarm_prepares(local: LocalWindows | None) -> None:
    asked = [{"role": "user", "content": "hi"}, {"type": "compaction_trigger"}]
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):
        _, completed = await warm(engine, {**WARM, "input": asked, "store": local is None}, local)
        request = {"model": "m", "input": "go", "previous_response_id": completed["response"]["id"]}
        await engine.run(TurnRequest("responses", request, False, local), None)
        sent = orjson.loads(upstream.requests[0].body)
    assert [item["role"] for item in sent["input"]] == ["user", "user"]


async def test_an_unstored_prewarm_lives_in_its_connection_only() -> None:
    local = LocalWindows(1000)
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        _, completed = await warm(engine, {**WARM, "store": False}, local)
        window = local.get(completed["response"]["id"])
        assert await kept(engine) == {}
    assert window is not None
    assert window.instructions == b'"be brief"'


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({**WARM, "model": "nobody/knows"}, "model_not_found"),
        ({**WARM, "previous_response_id": "resp_no"}, "previous_response_not_found"),
        ({**WARM, "input": [{"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}]},
         "invalid_request_error"),
    ],
)  # fmt: skip
async def test_what_cannot_be_prepared_is_refused_and_not_kept(request_: Json, code: str) -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        with pytest.raises(Failure) as caught:
            await warm(engine, request_)
        assert caught.value.code == code
        assert await kept(engine) == {}


@pytest.mark.parametrize("change", [{"model": "nobody/has-it"}, {"input": [{"type": "item_reference", "id": "x"}]}])
async def test_a_failed_prewarm_forgets_what_it_would_have_continued(change: dict[str, object]) -> None:
    async with one_upstream("responses", WHOLE["responses"]) as (engine, upstream):
        local = LocalWindows(1000)
        local.keep("resp_0", Window((), None, None))
        request = body(previous_response_id="resp_0", store=False, **change)
        with pytest.raises(Failure):
            await engine.prewarm(TurnRequest("responses", request, True, local))
        assert local.get("resp_0") is None
        assert upstream.requests == []


async def test_a_prewarm_over_a_prewarm_adds_to_it() -> None:
    async with one_upstream("responses", WHOLE["responses"]) as (engine, _):
        local = LocalWindows(10_000)
        local.keep("resp_0", Window((b'{"type":"message","id":"a"}',), b"[]", None, b'"Obey."'))
        request = body(previous_response_id="resp_0", store=False)
        events = await engine.prewarm(TurnRequest("responses", request, True, local))
        assert events.count(b"event: ") == 2
        assert await kept(engine) == {}
        name = events.split(b'"id":"')[1].split(b'"')[0].decode()
        window = local.get(name)
        assert window is not None
        assert (len(window.items), window.instructions) == (2, b'"Obey."')
