"""The fault matrix with a second provider: what the first one does before content, the client does not see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import orjson
import pytest
import structlog

from agentic_proxy.config.model import Config, Model, Models, Provider, Retries, Routing, Store, Timeouts
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine import attempts
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.turn import TurnRequest
from faults.matrix import ERROR, FAULTS, Fault
from support.breaks import IN_TEXT, WHOLE, WORDS, stream, whole
from support.deadlines import let_pass
from support.engines import PATIENT, RecordingSink, body, provider, run_turn, running_engine
from support.raw_upstream import CLOSE, RESET, RawUpstream, Script, answer
from support.turns import Call
from support.wires import responses_frames
from translators.failure import ROWS

GOOD = whole(WHOLE["responses"])
BROKEN_CALL = whole(b"".join(responses_frames({"model": "m"}, (Call("run", '{"x": 1'),), None)))
LIMITED = answer(429, ERROR, "retry-after-ms: 40")
FAILING = [fault for fault in FAULTS if fault.record is not None]
CASES = [
    pytest.param(fault, wire, streaming, id=f"{fault.name}-{wire}-{'stream' if streaming else 'blocking'}")
    for fault in FAILING
    for wire in fault.scripts
    for streaming in (True, False)
]


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


@asynccontextmanager
async def upstreams(
    *scripts: tuple[Script, ...], timeouts: Timeouts = PATIENT, wire: str = "responses"
) -> AsyncIterator[tuple[Engine, list[RawUpstream]]]:
    """An engine over one provider per group of scripts: a (of ``wire``), b, c."""
    made = [RawUpstream(*each) for each in scripts]
    for upstream in made:
        await upstream.__aenter__()
    try:
        providers = [
            provider(name, upstream.url, wire if name == "a" else "responses")
            for name, upstream in zip("abc", made, strict=False)
        ]
        async with running_engine(*providers, timeouts=timeouts) as engine:
            yield engine, made
    finally:
        for upstream in made:
            await upstream.__aexit__(None, None, None)


def out(engine: Engine) -> list[tuple[str, str]]:
    return [(row["provider"], row["code"]) for row in engine.outages.listing(engine.config.providers)]


@pytest.mark.parametrize(("fault", "wire", "streaming"), CASES)
@pytest.mark.requirement("P6", "P7", "AP18")
async def test_the_second_provider_takes_over_unless_content_was_seen_or_the_request_is_at_fault(
    fault: Fault, wire: str, streaming: bool
) -> None:
    assert fault.record is not None
    row = ROWS[fault.record]
    async with upstreams((fault.scripts[wire],), (GOOD,), wire=wire) as (engine, (first, second)):
        first.silent = let_pass if fault.gives_up else None
        sink = RecordingSink() if streaming else None
        first.seen = second.seen = sink.seen if sink is not None else None
        outcome = await run_turn(engine, body(), sink)
        seen = streaming and fault.streamed is not None and not fault.name.endswith("after_created")
        takes_over = row.failover and not seen
        codes: list[tuple[str, str | None]] = [("a", fault.record)] * fault.attempts
        assert [(each.provider, each.code) for each in engine.usage.records] == codes + [("b", None)] * takes_over
        assert len(second.requests) == takes_over
        if takes_over:
            assert outcome.response is not None
            assert (outcome.status, outcome.code, outcome.response["status"]) == (200, None, "completed")
            assert b"SECRET" not in (sink.data if sink else b"")
        assert out(engine) == ([("a", fault.record)] if row.blames else []), "only faults of availability cool down"
        if not fault.kept:
            await first.until(lambda each: not each.open)
        asked = len(first.requests)
        again = await run_turn(engine, body(), None)
        if row.blames:
            assert (again.code, len(first.requests), len(second.requests)) == (None, asked, takes_over + 1)
        else:
            assert len(first.requests) > asked, "a request fault is no reason to avoid the provider"


async def test_a_provider_that_died_in_the_middle_of_a_text_is_avoided_by_the_next_turn() -> None:
    async with upstreams((stream(IN_TEXT["responses"], WORDS, RESET),), (GOOD,)) as (engine, (first, second)):
        sink = RecordingSink()
        first.seen = sink.seen
        outcome = await run_turn(engine, body(), sink)
        assert (outcome.code, len(second.requests), out(engine)) == ("upstream_closed", 0, [("a", "upstream_closed")])
        again = await run_turn(engine, body(), RecordingSink())
        assert (again.code, len(first.requests), len(second.requests)) == (None, 1, 1)


@pytest.mark.requirement("AP21")
async def test_a_broken_call_never_cools_the_credential_down() -> None:
    async with upstreams((BROKEN_CALL,), (GOOD,)) as (engine, (_, second)):
        for turn in (1, 2):
            outcome = await run_turn(engine, body(), None)
            assert outcome.code == "invalid_tool_arguments"
            assert (out(engine), len(second.requests)) == ([], 0), turn


async def test_a_rate_limit_with_a_stated_wait_is_waited_for_when_there_is_nobody_else() -> None:
    async with upstreams(((LIMITED,), (LIMITED,), GOOD)) as (engine, (first,)):
        sink = RecordingSink()
        outcome = await run_turn(engine, body(), sink)
        assert (outcome.status, outcome.code, len(first.requests)) == (200, None, 3)
        assert [record.code for record in engine.usage.records] == [*["rate_limit_exceeded"] * 2, None]
        assert out(engine) == []


def wait_until_seen(monkeypatch: pytest.MonkeyPatch, sink: RecordingSink, marker: bytes) -> list[float]:
    """Waits for a candidate last until the client was sent these bytes; how long they would have been, in seconds."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await sink.seen(marker)

    monkeypatch.setattr(attempts, "asyncio", SimpleNamespace(sleep=sleep, timeout=asyncio.timeout))
    return waits


async def test_keepalives_hold_the_client_while_a_rate_limit_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = replace(PATIENT, keepalive_first=0.02, keepalive=0.02)
    async with upstreams(((LIMITED,), GOOD), timeouts=quick) as (engine, (first,)):
        sink = RecordingSink()
        waits = wait_until_seen(monkeypatch, sink, b'"keepalive"')
        outcome = await run_turn(engine, body(), sink)
        assert (outcome.status, outcome.code, len(first.requests), len(waits)) == (200, None, 2, 1)
        assert sink.kinds()[:3] == ["response.created", "response.in_progress", "keepalive"]


async def test_comments_hold_the_client_where_the_configuration_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = replace(PATIENT, keepalive_first=0.02, keepalive=0.02, keepalive_form="comment")
    async with upstreams(((LIMITED,), GOOD), timeouts=quick) as (engine, _):
        sink = RecordingSink()
        waits = wait_until_seen(monkeypatch, sink, b": keepalive\n\n")
        turn = TurnRequest("responses", {**body(), "stream": True}, True)
        response = await engine.run(turn, sink)
        assert (response["status"], len(waits)) == ("completed", 1)
        assert b"event: keepalive" not in sink.data


async def test_another_provider_is_asked_before_a_rate_limit_is_waited_for() -> None:
    async with upstreams(((LIMITED,), GOOD), (GOOD,)) as (engine, (first, second)):
        outcome = await run_turn(engine, body(), None)
        assert (outcome.code, len(first.requests), len(second.requests)) == (None, 1, 1)


async def test_a_wait_is_not_begun_for_a_client_that_cancelled() -> None:
    async with upstreams(((answer(429, ERROR, "retry-after: 9"),), GOOD)) as (engine, (first,)):
        turn = asyncio.create_task(run_turn(engine, body(), None))
        await first.until(lambda each: len(each.requests) == 1)
        await asyncio.sleep(0)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert len(first.requests) == 1


async def test_x_should_retry_of_the_upstream_is_obeyed() -> None:
    never = answer(503, ERROR, "x-should-retry: false")
    once = answer(500, ERROR, "x-should-retry: true")
    async with upstreams(((never,), GOOD)) as (engine, (first,)):
        assert (await run_turn(engine, body(), None)).code == "upstream_overloaded"
        assert len(first.requests) == 1
    async with upstreams(((once,), GOOD)) as (engine, (first,)):
        assert (await run_turn(engine, body(), None)).code is None
        assert len(first.requests) == 2


@pytest.mark.requirement("AP20", "U9")
async def test_a_failed_attempt_keeps_the_tokens_that_were_reported_and_is_logged_with_both_ids() -> None:
    failed = {
        "type": "response.failed",
        "response": {
            "id": "resp_theirs",
            "status": "failed",
            "error": {"code": "odd_code", "message": "It broke."},
            "incomplete_details": {"reason": "odd_reason"},
            "usage": {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8},
        },
    }
    script = whole(b"data: " + orjson.dumps(failed) + b"\n\n")
    async with upstreams((script,)) as (engine, _):
        with structlog.testing.capture_logs() as logs:
            outcome = await run_turn(engine, body(), None)
        assert outcome.code == "odd_code"
        (record,) = engine.usage.records
        assert (record.code, record.input_tokens, record.output_tokens) == ("upstream_error", 5, 3)
    (entry,) = [entry for entry in logs if entry["event"] == "attempt_failed"]
    assert entry == {
        "event": "attempt_failed", "log_level": "warning", "provider": "a", "model": "m",
        "request_id": "", "response_id": record.response_id, "upstream_id": "resp_theirs", "code": "upstream_error",
        "message": "It broke.", "reason": "odd_reason",
    }  # fmt: skip


@pytest.mark.requirement("AP20")
async def test_the_record_of_a_failed_attempt_is_written_before_its_client_hears_of_it() -> None:
    async with upstreams((stream(IN_TEXT["responses"], WORDS, RESET),)) as (engine, (first,)):
        recorded: list[list[str | None]] = []

        class Watching(RecordingSink):
            async def write(self, data: bytes) -> None:
                if b"response.failed" in data:
                    recorded.append([record.code for record in engine.usage.records])
                await super().write(data)

        sink = Watching()
        first.seen = sink.seen
        await run_turn(engine, body(), sink)
        assert recorded == [["upstream_closed"]]
        assert len(engine.usage.records) == 1


def keyed(url: str, *keys: str) -> Provider:
    return provider("a", url, "responses", api_keys=tuple(Secret(key) for key in keys))


@asynccontextmanager
async def two_keys(*scripts: Script) -> AsyncIterator[tuple[Engine, RawUpstream]]:
    async with (
        RawUpstream(*scripts) as upstream,
        running_engine(keyed(upstream.url, "sk-first-key", "sk-second-key")) as engine,
    ):
        yield engine, upstream


async def test_the_keys_of_a_provider_take_over_from_each_other() -> None:
    async with two_keys((answer(401, ERROR),), GOOD) as (engine, upstream):
        for _ in range(2):
            assert (await run_turn(engine, body(), None)).code is None
        sent = [dict(request.headers)["Authorization"] for request in upstream.requests]
        assert sent == ["Bearer sk-first-key", "Bearer sk-second-key", "Bearer sk-second-key"]
        assert [(row["key"], row["model"]) for row in engine.outages.listing(engine.config.providers)] == [(1, None)]


async def test_when_all_keys_are_refused_the_client_reads_which_provider_has_to_be_looked_at() -> None:
    async with two_keys((answer(401, ERROR),)) as (engine, _):
        outcome = await run_turn(engine, body(), None)
        assert outcome.failure is not None
        assert (outcome.status, outcome.code) == (403, "upstream_auth")
        assert outcome.failure.message.endswith(
            "Check key 2 of 2 (api_keys) of provider 'a' in the proxy's configuration."
        )
        assert "sk-" not in outcome.failure.message


async def test_round_robin_spreads_turns_over_keys_and_a_session_stays() -> None:
    async with RawUpstream(GOOD) as upstream:
        made = keyed(upstream.url, "sk-first-key", "sk-second-key")
        config = Config(providers=(made,), routing=Routing("round-robin"), store=Store(url="memory:"))
        async with running_engine(made) as patient:
            engine = Engine(config, patient.transport, patient.shared)
            for key in ("x", None, "x", None, "x"):
                request = body() if key is None else body(prompt_cache_key=key)
                assert (await run_turn(engine, request, None)).code is None
            keys = [dict(request.headers)["Authorization"][-10:] for request in upstream.requests]
            assert keys[0::2] == ["-first-key"] * 3
            assert sorted(keys[1::2]) == ["-first-key", "second-key"]


async def test_a_fallback_chain_goes_on_with_another_model_of_another_wire() -> None:
    async with RawUpstream((CLOSE,)) as dead, RawUpstream(whole(WHOLE["chat"])) as alive:
        first = provider("a", dead.url, "responses")
        second = provider("b", alive.url, "chat", models=(Model("other"),))
        config = Config(
            providers=(first, second),
            models=Models(fallback={"a/m": ("b/other",)}),
            retries=Retries(same_candidate=0),
            store=Store(url="memory:"),
        )
        async with running_engine(first, second) as patient:
            engine = Engine(config, patient.transport, patient.shared)
            history = [
                {"type": "message", "role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "ran"},
            ]
            outcome = await run_turn(engine, body(input=history), RecordingSink())
            assert (outcome.status, outcome.code) == (200, None)
            assert outcome.response is not None
            assert outcome.response["model"] == "m"
            sent = orjson.loads(alive.requests[0].body)
            assert (sent["model"], [message["role"] for message in sent["messages"]]) == (
                "other", ["user", "assistant", "tool"],
            )  # fmt: skip
            assert [record.provider for record in engine.usage.records] == ["a", "b"]
