"""``compaction: native``: an upstream's own endpoint compacts, and its state goes through whole."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from agentic_proxy.engine.turn import TurnRequest
from support.engines import PATIENT, TOOL, one_upstream
from support.raw_upstream import STALL, RawUpstream, Script, answer
from support.turns import Json, Say
from support.websocket import played, sent, user
from translators.failure import Failure

STATE: Json = {"type": "compaction", "id": "cmp_theirs", "encrypted_content": "gAAAA", "created_by": "them"}
OUTPUT: list[Json] = [{**user("do it"), "id": "msg_theirs"}, STATE]
USAGE: Json = {
    "input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10,
}  # fmt: skip


def answered(body: Any) -> Script:
    return (answer(200, orjson.dumps(body)),)


async def compact(script: Script, **options: Any) -> tuple[Json | Failure, RawUpstream, list[str | None], int]:
    """What comes back, what went up, the codes of the usage records, and how many responses were stored."""
    async with one_upstream("responses", script, **options) as (engine, upstream):
        engine.config = replace(engine.config, compaction="native")
        body = {"model": "m", "input": [user("do it")], "instructions": "brief", "tools": [TOOL], "stream": True}
        outcome: Json | Failure
        try:
            outcome = await engine.compact(body)
        except Failure as failure:
            outcome = failure
        stats = await engine.store.stats()
        return outcome, upstream, [record.code for record in engine.usage.records], stats.responses


@pytest.mark.requirement("AP11")
async def test_valid_state_is_kept_whole_and_can_be_continued() -> None:
    window = {"id": "resp_theirs", "object": "response.compaction", "created_at": 1, "output": OUTPUT, "usage": USAGE}
    outcome, upstream, codes, stored = await compact(answered({**window, "more": 1}))
    assert isinstance(outcome, dict)
    assert (outcome["output"], outcome["usage"], outcome["more"]) == (OUTPUT, USAGE, 1)
    assert (outcome["object"], outcome["id"] != "resp_theirs") == ("response.compaction", True)
    assert (codes, stored) == ([None], 1)
    assert upstream.requests[0].line == "POST /v1/responses/compact HTTP/1.1"
    body = sent(upstream)
    assert body.keys() == {"model", "instructions", "input"}
    assert body["input"][0]["content"] == user("do it")["content"]


async def test_the_state_goes_up_again_with_the_next_turn() -> None:
    window = {"object": "response.compaction", "output": OUTPUT, "usage": USAGE}
    async with one_upstream("responses", answered(window), played(Say("ok"))) as (engine, upstream):
        engine.config = replace(engine.config, compaction="native")
        made = await engine.compact({"model": "m", "input": [user("do it")]})
        body = {"model": "m", "input": [user("go on")], "previous_response_id": made["id"]}
        await engine.run(TurnRequest("responses", body, False), None)
        assert sent(upstream)["input"][:2] == OUTPUT


@pytest.mark.requirement("AP11")
@pytest.mark.parametrize(
    "body",
    [
        {}, [], {"output": {}}, {"output": []}, {"output": ["x"]}, {"output": [user("do it")]},
        {"output": [{"type": "compaction"}]}, {"output": [{**STATE, "encrypted_content": ""}]},
    ],
)  # fmt: skip
async def test_an_answer_without_state_is_502_and_nothing_is_kept(body: Any) -> None:
    outcome, _, codes, stored = await compact(answered(body))
    assert isinstance(outcome, Failure)
    assert (outcome.status, outcome.code) == (502, "upstream_invalid_response")
    assert (codes, stored) == (["upstream_invalid_response"], 0)


async def test_an_answer_that_is_no_json_is_502() -> None:
    outcome, *_ = await compact((answer(200, b"<html>", kind="text/html"),))
    assert isinstance(outcome, Failure)
    assert (outcome.status, outcome.code) == (502, "upstream_invalid_response")


@pytest.mark.requirement("AP11")
@pytest.mark.parametrize(
    ("theirs", "status", "code"),
    [(400, 400, "upstream_rejected"), (401, 403, "upstream_auth"), (429, 429, "rate_limit_exceeded")],
)
async def test_an_http_error_is_kept(theirs: int, status: int, code: str) -> None:
    error = {"error": {"message": "no", "type": "t", "code": "odd"}}
    outcome, _, codes, stored = await compact((answer(theirs, orjson.dumps(error)),))
    assert isinstance(outcome, Failure)
    assert (outcome.status, outcome.code, "no" in outcome.message) == (status, code, True)
    assert (codes, stored) == ([code], 0)


async def test_silence_is_a_timeout() -> None:
    outcome, _, codes, _ = await compact((STALL,), timeouts=replace(PATIENT, first_byte=0.05))
    assert isinstance(outcome, Failure)
    assert (outcome.status, codes) == (504, ["upstream_timeout"])


async def test_a_client_that_leaves_is_in_the_record_of_the_attempt() -> None:
    async with one_upstream("responses", (STALL,)) as (engine, upstream):
        engine.config = replace(engine.config, compaction="native")
        task = asyncio.create_task(engine.compact({"model": "m", "input": [user("do it")]}))
        await upstream.until(lambda seen: bool(seen.requests))
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert [record.code for record in engine.usage.records] == ["client_gone"]
