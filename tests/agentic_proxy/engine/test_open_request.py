"""One record per client request, whatever way it ends, and a line in the log that names it when it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.engine.turn import CANCELLED, SHUTDOWN, TurnRequest
from agentic_proxy.routing.models import NAME_SHOWN, Target
from agentic_proxy.usage.base import RequestRecord, Way
from agentic_proxy.usage.sink import UsageSink
from support.breaks import WHOLE, whole
from support.engines import RecordingSink, body, eventually, one_upstream, provider, running_engine
from support.raw_upstream import STALL
from translators.failure import Failure

UP = provider("up", "http://127.0.0.1:9", "chat")


class Recording(UsageSink):
    """Keeps the records of requests, with the number of attempts that were recorded before each."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[RequestRecord] = []

    def answered(self, record: RequestRecord) -> None:
        self.requests.append(record)


@pytest.fixture
def sink() -> Recording:
    return Recording()


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as logged:
        yield logged


def opened(sink: UsageSink | None) -> OpenRequest:
    return OpenRequest(sink, "chat", "req_1", client="opencode")


def test_the_first_end_is_the_one_that_counts(sink: Recording) -> None:
    request = opened(sink)
    request.read({"model": "m" * 999, "input": "secret"})
    request.response_id, request.route = "resp_1", (Way("up", "u"),)
    request.asks(Target(UP, None, "u"))
    request.answered("incomplete")
    request.answered("completed")
    request.failed(Failure("upstream_error", "broken"))
    (record,) = sink.requests
    assert record == RequestRecord(
        request.at, "req_1", "resp_1", "chat", "http", "opencode", "m" * NAME_SHOWN, "up", "u", 200, "incomplete", None,
        record.seconds, (Way("up", "u"),),
    )  # fmt: skip
    assert 0 <= record.seconds < 5


ENDS: dict[str, tuple[BaseException, tuple[int, str, str | None]]] = {
    "a failure": (Failure("model_not_found", "no"), (404, "failed", "model_not_found")),
    "a bug": (ValueError("bug"), (500, "failed", "internal_error")),
    "a client that left while it was read": (ConnectionResetError("gone"), (499, "cancelled", "client_gone")),
    "a client that left": (asyncio.CancelledError(), (499, "cancelled", "client_gone")),
    "the end of the server": (asyncio.CancelledError(SHUTDOWN), (503, "failed", "server_shutdown")),
}


@pytest.mark.parametrize(("error", "end"), ENDS.values(), ids=ENDS)
def test_whatever_leaves_it_ends_it(error: BaseException, end: tuple[int, str, str | None], sink: Recording) -> None:
    with pytest.raises(type(error)), opened(sink):
        raise error
    (record,) = sink.requests
    assert (record.status, record.outcome, record.code) == end


def test_a_failure_after_the_head_was_a_200_for_the_client(sink: Recording) -> None:
    opened(sink).failed(Failure("upstream_error", "broken"), begun=True)
    assert [(each.status, each.code) for each in sink.requests] == [(200, "upstream_error")]


def test_the_proxys_own_requests_are_not_told_of(lines: list[Any]) -> None:
    opened(None).failed(Failure("upstream_error", "broken"))
    assert lines == []


def test_a_failure_is_logged_with_the_id_of_its_request_and_nothing_of_its_text(
    sink: Recording, lines: list[Any]
) -> None:
    request = opened(sink)
    request.read({"model": "m"})
    request.failed(Failure("invalid_request_error", "SECRET", param="input"))
    assert lines == [
        {
            "event": "request_failed", "log_level": "info", "request_id": "req_1", "response_id": None,
            "client": "opencode", "model": "m", "code": "invalid_request_error", "param": "input", "status": 400,
        }
    ]  # fmt: skip
    opened(sink).failed(Failure("upstream_error", "SECRET"))
    assert (lines[1]["log_level"], lines[1]["request_id"]) == ("warning", "req_1")
    for code in ("client_gone", "response_cancelled", "internal_error"):
        opened(sink).failed(Failure(code, ""))
    assert len(lines) == 2


def test_a_sink_that_breaks_does_not_fail_the_request(lines: list[Any]) -> None:
    class Broken(UsageSink):
        def answered(self, record: RequestRecord) -> None:
            raise RuntimeError("bug")

    opened(Broken()).answered("completed")
    assert [line["event"] for line in lines] == ["usage_lost"]


@pytest.mark.requirement("R10")
async def test_the_record_of_a_request_is_there_before_the_terminal_event() -> None:
    seen: list[int] = []
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        recording = engine.shared.usage = engine.usage = Recording()

        class Watching(RecordingSink):
            async def write(self, data: bytes) -> None:
                if b"response.completed" in data:
                    seen.append(len(recording.requests))
                await super().write(data)

        request = OpenRequest(recording, "responses", "req_1")
        response = await engine.run(TurnRequest("responses", body(), True, opened=request), Watching())
        (record,) = recording.requests
        (attempt,) = recording.records
    assert seen == [1]
    assert (record.response_id, record.model, record.outcome) == (response["id"], "m", "completed")
    assert (record.provider, record.upstream_model, record.route) == ("up", "m", (Way("up", "m"),))
    assert (attempt.request_id, attempt.response_id) == ("req_1", response["id"])


async def test_a_cancelled_turn_is_told_of_as_one_that_the_client_ended() -> None:
    async with one_upstream("responses", (b"HTTP/1.1 200 OK\r\n", STALL)) as (engine, upstream):
        recording = engine.usage = Recording()
        request = OpenRequest(recording, "responses", "req_1")
        turn = asyncio.create_task(engine.run(TurnRequest("responses", body(), True, opened=request), RecordingSink()))
        await eventually(lambda: len(upstream.requests) == 1)
        turn.cancel(CANCELLED)
        await asyncio.gather(turn, return_exceptions=True)
    assert [(each.outcome, each.code) for each in recording.requests] == [("cancelled", "client_gone")]


async def test_the_summary_on_the_way_belongs_to_the_request_that_wanted_it() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        recording = engine.usage = Recording()
        request = OpenRequest(recording, "responses", "req_1")
        await engine.compact({"model": "m", "input": "Hello.", "store": False}, request)
        assert [each.request_id for each in recording.records] == ["req_1"]
    (record,) = recording.requests
    assert (record.outcome, record.provider, record.route) == ("completed", "up", (Way("up", "m"),))


async def test_a_background_response_has_its_record_when_it_ends() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        recording = engine.usage = Recording()
        request = OpenRequest(recording, "responses", "req_1")
        with request:
            queued = await engine.run(TurnRequest("responses", body(background=True), False, opened=request), None)
        assert (queued["status"], recording.requests) == ("queued", [])
        await eventually(lambda: len(recording.requests) == 1)
    assert (recording.requests[0].response_id, recording.requests[0].outcome) == (queued["id"], "completed")


async def test_an_unknown_model_is_told_of_without_an_attempt() -> None:
    async with running_engine(UP) as engine:
        recording = engine.usage = Recording()
        request = OpenRequest(recording, "responses", "req_1")
        with pytest.raises(Failure):
            await engine.run(TurnRequest("responses", body(model="nothing"), False, opened=request), None)
    (record,) = recording.requests
    assert (record.model, record.code, record.status, record.provider) == ("nothing", "model_not_found", 404, "")
    assert (record.route, list(recording.records)) == ((), [])
