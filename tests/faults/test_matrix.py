"""Every fault of the matrix, on every upstream wire, for streaming and blocking clients, with the real transport."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from agentic_proxy.engine import attempts
from faults.matrix import FAULTS, Fault
from support.breaks import IN_TEXT, whole
from support.deadlines import let_pass
from support.engines import (
    Outcome,
    RecordingSink,
    body,
    eventually,
    kept,
    one_upstream,
    provider,
    run_turn,
    running_engine,
)
from support.raw_upstream import RawUpstream
from translators.failure import ROWS

CASES = [
    pytest.param(fault, wire, streaming, id=f"{fault.name}-{wire}-{'stream' if streaming else 'blocking'}")
    for fault in FAULTS
    for wire in fault.scripts
    for streaming in (True, False)
]


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


def check_outcome(fault: Fault, outcome: Outcome) -> None:
    if fault.record is None:
        assert (outcome.status, outcome.code) == (200, None)
        assert outcome.response is not None
        assert outcome.response["status"] == "completed"
    elif outcome.sink is not None and fault.streamed is not None:
        assert (outcome.status, outcome.code) == (200, fault.streamed)
        assert outcome.response is not None
        assert outcome.response["status"] == "failed"
        assert b"function_call_arguments.done" not in outcome.sink.data
        assert not any(event["type"] == "response.output_item.done" and event["item"]["type"] == "function_call"
                       for event in outcome.events)  # fmt: skip
    else:
        assert (outcome.status, outcome.code) == (fault.status, fault.code)


@pytest.mark.parametrize(("fault", "wire", "streaming"), CASES)
@pytest.mark.requirement("P1", "R1", "R2", "R7", "R9", "D1", "D3", "D7", "D12", "AP2", "AP3", "AP4", "U5")
async def test_a_fault_ends_as_the_matrix_says(
    fault: Fault, wire: str, streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "CLOSE_GRACE", fault.grace)
    async with one_upstream(wire, fault.scripts[wire]) as (engine, upstream):
        upstream.silent = let_pass if fault.gives_up else None
        sink = RecordingSink() if streaming else None
        upstream.seen = sink.seen if sink is not None else None
        outcome = await run_turn(engine, body(), sink)
        check_outcome(fault, outcome)
        assert len(upstream.requests) == fault.attempts
        assert [record.code for record in engine.usage.records] == [fault.record] * fault.attempts
        assert [*(await kept(engine)).values()] == ([] if fault.record else ["completed"])
        shown = sink.data if sink is not None else b""
        assert b"SECRET" not in shown + str(outcome.failure).encode()
        if fault.kept:
            await eventually(lambda: engine.transport._direct.idle == 1)
            again = await run_turn(engine, body(), None)
            assert again.code == fault.code or fault.record is None
            assert {request.connection for request in upstream.requests} == {0}
        else:
            await upstream.until(lambda each: not each.open)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("wire", ["responses", "chat", "messages"])
@pytest.mark.parametrize(("fault", "attempts"), [("refused", 2), ("dns", 1), ("tls", 1)])
async def test_an_upstream_without_http_ends_as_unreachable(
    fault: str, attempts: int, wire: str, streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RawUpstream(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as upstream:
        url = upstream.url
        if fault == "refused":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                url = f"http://127.0.0.1:{free.getsockname()[1]}"
        elif fault == "dns":
            url = "http://upstream.invalid"

            async def unknown(*args: Any, **options: Any) -> Any:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
        else:
            url = url.replace("http:", "https:")
        async with running_engine(provider("up", url, wire)) as engine:
            outcome = await run_turn(engine, body(), RecordingSink() if streaming else None)
            assert (outcome.status, outcome.code) == (502, "upstream_unreachable")
            assert [record.code for record in engine.usage.records] == ["upstream_unreachable"] * attempts
            assert outcome.failure is not None
            assert outcome.failure.message.startswith(f"Provider 'up' ({url}/v1) could not be reached: ")
            assert [*(await kept(engine)).values()] == []


async def test_the_upstreams_retry_after_reaches_the_client() -> None:
    fault = next(fault for fault in FAULTS if fault.name == "http_429_retry_after")
    async with one_upstream("responses", fault.scripts["responses"]) as (engine, _):
        outcome = await run_turn(engine, body(), None)
        assert outcome.failure is not None
        assert outcome.failure.retry_after == 70.0


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.record], ids=lambda fault: fault.name)
def test_what_a_fault_costs_codex_is_what_the_failure_table_says(fault: Fault) -> None:
    row = ROWS[fault.record or ""]
    assert (row.posts_http, row.posts_stream) == fault.posts


def test_the_matrix_names_each_fault_once() -> None:
    names = [fault.name for fault in FAULTS]
    assert sorted(set(names)) == sorted(names)


AT_ONCE = {
    "responses": b'event: response.created\ndata: {"response":{"id":"r","status":"in_progress"}}\n\n'
    b'event: response.failed\ndata: {"response":{"id":"r","error":{"code":"odd_code","message":"FIRST"}}}\n\n',
    "chat": IN_TEXT["chat"] + b'data: {"error":{"code":"odd_code","message":"FIRST"}}\n\n',
    "messages": IN_TEXT["messages"] + b'data: {"type":"error","error":{"type":"odd_code","message":"FIRST"}}\n\n',
}


@pytest.mark.parametrize("wire", AT_ONCE)
@pytest.mark.requirement("R9")
async def test_the_head_goes_out_with_the_first_event_even_if_the_failure_came_in_the_same_read(wire: str) -> None:
    async with one_upstream(wire, whole(AT_ONCE[wire])) as (engine, _):
        outcome = await run_turn(engine, body(), RecordingSink())
        assert (outcome.status, outcome.code) == (200, "odd_code")
        assert [event["type"] for event in outcome.events] == [
            "response.created", "response.in_progress", "response.failed",
        ]  # fmt: skip
        assert (await run_turn(engine, body(), None)).status == 502
