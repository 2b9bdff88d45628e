"""Failover and retries: invisible until content, never for faults of the request or of the model's text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from structlog.testing import capture_logs

from agentic_proxy.config.model import Limits, Timeouts
from agentic_proxy.engine import attempts
from agentic_proxy.engine.engine import Engine
from faults.matrix import ERROR
from support.breaks import CALL, CREATED, IN_TEXT, ITEM_DONE, LIFECYCLE, WHOLE, WORDS, stream, whole
from support.deadlines import Watched, let_pass
from support.engines import PATIENT, SMALL, RecordingSink, body, one_upstream, provider, run_turn, running_engine
from support.patch_turns import REPAIRABLE, answers, frames, request
from support.raw_upstream import CLOSE, LAST, LIMIT, OK, RESET, STALL, RawUpstream, Script, answer, chunk
from support.turns import Call, Say
from support.wires import responses_frames

GOOD = whole(WHOLE["responses"])
BROKEN_CALL = whole(b"".join(responses_frames({"model": "m"}, (Call("run", '{"x": 1'),), None)))


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


@asynccontextmanager
async def two_upstreams(
    first: Script, second: Script, wire: str = "responses", timeouts: Timeouts = PATIENT, limits: Limits = SMALL
) -> AsyncIterator[tuple[Engine, RawUpstream, RawUpstream]]:
    async with (
        RawUpstream(first) as a,
        RawUpstream(second) as b,
        running_engine(
            provider("a", a.url, wire), provider("b", b.url, "responses"), timeouts=timeouts, limits=limits
        ) as engine,
    ):
        yield engine, a, b


@pytest.mark.requirement("NW6")
@pytest.mark.parametrize(("status", "code"), [(429, "rate_limit_exceeded"), (400, "upstream_rejected")])
async def test_an_error_whose_text_never_ends_is_told_by_its_status(
    status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "ERROR_WAIT", 0.0)
    begun = answer(status, ERROR, "retry-after: 7")[:-5]
    async with one_upstream("responses", (begun, STALL)) as (engine, _):
        outcome = await run_turn(engine, body(), RecordingSink())
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.code, outcome.failure.retry_after) == (status, code, 7)


BEFORE_CONTENT: dict[str, tuple[Script, list[str]]] = {
    "closed": ((CLOSE,), ["upstream_unreachable", "upstream_unreachable"]),
    "http_401": ((answer(401, ERROR),), ["upstream_auth"]),
    "http_429": ((answer(429, ERROR),), ["rate_limit_exceeded"]),
    "http_503": ((answer(503, ERROR),), ["upstream_overloaded", "upstream_overloaded"]),
    "html": ((OK, chunk(b"<html>" + b"." * 80), STALL), ["upstream_invalid_response"]),
    "empty": ((OK, LAST), ["upstream_empty"]),
    "created_then_eof": (stream(CREATED["responses"], LIFECYCLE, LAST), ["upstream_closed"]),
    "created_then_reset": (stream(CREATED["responses"], LIFECYCLE, RESET), ["upstream_closed"]),
    "created_then_silence": (stream(CREATED["responses"], STALL), ["upstream_timeout"]),
}


@pytest.mark.parametrize("fault", BEFORE_CONTENT)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.requirement("P6")
async def test_another_provider_takes_over_unseen_before_content(fault: str, streaming: bool) -> None:
    script, codes = BEFORE_CONTENT[fault]
    async with two_upstreams(script, GOOD) as (engine, a, b):
        sink = RecordingSink() if streaming else None
        a.silent = let_pass if "silence" in fault else None
        a.seen = b.seen = sink.seen if sink else None
        outcome = await run_turn(engine, body(), sink)
        assert (outcome.status, outcome.code) == (200, None)
        assert outcome.response is not None
        assert outcome.response["status"] == "completed"
        assert [(record.provider, record.code) for record in engine.usage.records] == [
            *(("a", code) for code in codes),
            ("b", None),
        ]
        assert len({record.response_id for record in engine.usage.records}) == 1
        assert len(b.requests) == 1


async def test_after_content_a_stream_fails_and_nobody_else_is_asked() -> None:
    async with two_upstreams(stream(IN_TEXT["responses"], WORDS, RESET), GOOD) as (engine, a, b):
        sink = RecordingSink()
        a.seen = sink.seen
        outcome = await run_turn(engine, body(), sink)
        assert (outcome.status, outcome.code) == (200, "upstream_closed")
        assert b.requests == []


async def test_a_blocking_client_has_seen_nothing_so_another_provider_may_answer_it_whole() -> None:
    async with two_upstreams(stream(IN_TEXT["responses"], RESET), GOOD) as (engine, _, b):
        outcome = await run_turn(engine, body(), None)
        assert outcome.response is not None
        assert [item["content"][0]["text"] for item in outcome.response["output"]] == ["partial text"]
        assert len(b.requests) == 1


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("script", "code"),
    [
        ((answer(400, ERROR),), "upstream_rejected"),
        ((answer(422, ERROR),), "upstream_rejected"),
        ((OK, chunk(b'data: {"a":"' + b"x" * (80 << 10)), STALL), "upstream_too_large"),
        (BROKEN_CALL, "invalid_tool_arguments"),
    ],
    ids=["400", "422", "too_large", "broken_call"],
)
async def test_a_fault_of_the_request_or_of_the_models_text_is_no_reason_to_ask_another(
    script: Script, code: str, streaming: bool
) -> None:
    async with two_upstreams(script, GOOD) as (engine, _, b):
        await run_turn(engine, body(), RecordingSink() if streaming else None)
        # A call of which nothing was shown is asked for once more, from the same provider.
        rounds = 2 if script is BROKEN_CALL and not streaming else 1
        assert [record.code for record in engine.usage.records] == [code] * rounds
        assert b.requests == []


@pytest.mark.parametrize("wire", ["responses", "chat"])
@pytest.mark.requirement("P6")
async def test_a_call_that_is_still_to_be_judged_is_no_content_and_leaves_nothing_behind(wire: str) -> None:
    whole_call = frames(wire, REPAIRABLE)
    end = whole_call.index(b"event: response.completed") if wire == "responses" else whole_call.index(b"[DONE]") - 6
    script = stream(whole_call[:end], LIFECYCLE, RESET)
    async with two_upstreams(script, answers("responses", Say("Done. ")), wire) as (engine, a, b):
        sink = RecordingSink()
        a.seen = sink.seen
        outcome = await run_turn(engine, request(), sink)
        assert [record.code for record in engine.usage.records] == ["upstream_closed", None]
        assert outcome.response is not None
        assert [item["type"] for item in outcome.response["output"]] == ["message"]
        assert b"custom_tool_call" not in b"".join(sink.writes).split(b"response.output_item.added", 1)[1]
        assert (len(a.requests), len(b.requests)) == (1, 1)


async def test_when_all_fail_the_last_failure_is_the_answer() -> None:
    async with two_upstreams((answer(401, ERROR),), (answer(429, ERROR, "retry-after: 30"),)) as (engine, _, _b):
        outcome = await run_turn(engine, body(), RecordingSink())
        assert (outcome.status, outcome.code) == (429, "rate_limit_exceeded")
        assert outcome.failure is not None
        assert (outcome.failure.retry_after, len(engine.usage.records)) == (30.0, 2)


async def test_an_upstream_of_another_wire_takes_over() -> None:
    script = stream(CREATED["chat"], LIFECYCLE, LAST)
    async with two_upstreams(script, GOOD, wire="chat") as (engine, a, b):
        sink = RecordingSink()
        a.seen = sink.seen
        outcome = await run_turn(engine, body(), sink)
        assert (outcome.status, outcome.code) == (200, None)
        assert [each.requests[0].line for each in (a, b)] == [
            "POST /v1/chat/completions HTTP/1.1",
            "POST /v1/responses HTTP/1.1",
        ]


async def test_the_same_candidate_is_asked_as_often_as_the_configuration_says() -> None:
    async with one_upstream("responses", (answer(503, ERROR),), GOOD) as (engine, upstream):
        outcome = await run_turn(engine, body(), None)
        assert (outcome.code, len(upstream.requests)) == (None, 2)
        assert upstream.requests[0].body == upstream.requests[1].body


async def test_after_a_finish_reason_a_missing_done_marker_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempts, "CLOSE_GRACE", 0.05)
    patient = Timeouts(first_byte=10 * LIMIT, idle=10 * LIMIT)
    async with one_upstream("chat", stream(ITEM_DONE["chat"], STALL), timeouts=patient) as (engine, upstream):
        sink = RecordingSink()
        outcome = await asyncio.wait_for(run_turn(engine, body(), sink), LIMIT)
        assert (outcome.status, outcome.code) == (200, None)
        assert "response.function_call_arguments.done" in sink.kinds()
        await upstream.until(lambda each: not each.open)


async def test_a_slow_client_does_not_use_up_the_upstreams_deadline() -> None:
    waits: list[bool] = []

    class Slow(RecordingSink):
        async def write(self, data: bytes) -> None:
            await super().write(data)
            waits.extend(deadline.since is not None for deadline in Watched.running)

    frames = CALL["responses"]
    script: Script = (OK, chunk(b"".join(frames[:3])), LIFECYCLE, chunk(b"".join(frames[3:])), LAST)
    sink = Slow()
    async with one_upstream("responses", script) as (engine, upstream):
        upstream.seen = sink.seen
        outcome = await run_turn(engine, body(), sink)
    assert (outcome.status, outcome.code) == (200, None)
    assert waits == [False] * (len(sink.writes) - 1), "each write but the last, which comes after the upstream's close"


async def test_the_error_of_an_upstream_is_shown_without_the_key_it_repeats() -> None:
    key = "sk-upstream-key-of-a-test"
    said = orjson.dumps({"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}})
    async with one_upstream("responses", (answer(401, said),)) as (engine, _):
        outcome = await run_turn(engine, body(), None)
        assert outcome.failure is not None
        assert key not in outcome.failure.message
        assert "Incorrect API key provided" in outcome.failure.message


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_connection_that_somebody_else_cancels_ends_in_one_failure(
    streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opens(*_: object, **__: object) -> None:
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone

    async with one_upstream("responses", GOOD) as (engine, _):
        monkeypatch.setattr(engine.executors["up"], "open", opens)
        outcome = await run_turn(engine, body(), RecordingSink() if streaming else None)
    assert outcome.code == "internal_error"


@pytest.mark.parametrize("name", ["x-request-id", "request-id", "X-Generation-Id", "x-deepseek-request-id"])
async def test_the_providers_own_name_of_a_refused_request_is_in_the_log(name: str) -> None:
    refused = (answer(400, ERROR, f"{name}: req-of-theirs"),)
    async with one_upstream("chat", refused) as (engine, _):
        with capture_logs() as logs:
            await run_turn(engine, body(), None)
    assert [each["upstream_id"] for each in logs if each["event"] == "attempt_failed"] == ["req-of-theirs"]
