"""One usage record per attempt, the sum over rounds, and what is told about calls that were not right."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.engine import account as module
from agentic_proxy.engine.account import Account
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.open_request import OpenRequest
from agentic_proxy.routing.models import Target
from agentic_proxy.usage.base import UsageRecord
from support.engines import RecordingSink, one_upstream, provider, run_turn, running_engine
from support.patch_turns import GOOD, NO_PATCH, REPAIRABLE, WRONG_TYPE, answers, request
from support.turns import Call
from translators.close import Close
from translators.failure import Failure
from translators.usage import usage_of

UP = provider("up", "http://127.0.0.1:9", "chat")
TARGET = Target(UP, None, "m")
WIRES = pytest.mark.parametrize("wire", ["responses", "chat"])


def opened(engine: Engine) -> Account:
    request = OpenRequest(engine.usage, "responses", "req_1", client="codex")
    request.read({"model": "house/m"})
    request.response_id = "resp_1"
    return Account(engine, request)


async def test_an_attempt_has_one_record_however_often_its_end_is_told() -> None:
    async with running_engine(UP) as engine:
        account = opened(engine)
        account.failed(Failure("client_gone", "gone"))
        assert list(engine.usage.records) == []
        account.start(TARGET)
        account.note(("rule",), ("drop:temperature",))
        account.heard()
        account.failed(Failure("upstream_closed", "x"))
        account.failed(Failure("internal_error", "y"))
        account.start(TARGET, "key 2 of 2")
        usage = usage_of(3, 2, cached=1, written=1, reasoning=1)
        account.closed(Close("completed", usage=usage), [], again=False)
        account.start(TARGET)
        account.closed(Close("completed"), [], again=False)
        first, second, third = engine.usage.records
    assert (first.code, first.notes, first.lessons, first.input_tokens) == (
        "upstream_closed",
        ("rule",),
        ("drop:temperature",),
        0,
    )
    assert first.first_event is not None and 0 <= first.first_event <= first.seconds
    assert second._replace(at=0.0, seconds=0.0) == UsageRecord(
        0.0, "resp_1", "responses", "house/m", "up", "m", 0.0, None, 3, 1, 2, 1,
        request_id="req_1", client="codex", provider_type="local", credential="key 2 of 2",
        number=2, retry=1, cache_write_tokens=1,
    )  # fmt: skip
    # A round that was answered is over: what follows is no retry of it.
    assert [(each.number, each.retry) for each in (first, second, third)] == [(1, 0), (2, 1), (3, 0)]


async def test_what_a_failed_attempt_reported_is_kept_with_it() -> None:
    async with running_engine(UP) as engine:
        account = opened(engine)
        account.start(TARGET)
        account.failed(Failure("upstream_closed", "x", usage=usage_of(7, 2, cached=5, reasoning=1)))
        (record,) = engine.usage.records
    assert (record.code, record.input_tokens, record.cached_tokens) == ("upstream_closed", 7, 5)
    assert (record.output_tokens, record.reasoning_tokens) == (2, 1)


async def test_usage_is_summed_over_rounds_and_a_round_without_any_adds_none() -> None:
    async with running_engine(UP) as engine:
        account = opened(engine)
        assert account.usage is None
        rounds = (usage_of(3, 2, cached=1), None, usage_of(10, 20, reasoning=5, written=4), usage_of(1, 1))
        for usage in (None, *rounds):
            account.start(TARGET)
            account.closed(Close("completed", usage=usage), [], again=False)
    assert account.usage == usage_of(14, 23, cached=1, written=4, reasoning=5)


async def test_rounds_of_formats_that_count_less_are_summed_as_well() -> None:
    async with running_engine(UP) as engine:
        account = opened(engine)
        for usage in ({"input_tokens": 1, "output_tokens": 1}, usage_of(3, 2, cached=1), {"input_tokens": 5}):
            account.start(TARGET)
            account.closed(Close("completed", usage=usage), [], again=False)
    assert account.usage == usage_of(9, 3, cached=1, total=5)


async def test_what_an_upstream_says_is_redacted_before_it_is_shown() -> None:
    async with running_engine(UP) as engine:
        shown = opened(engine).failed(Failure("upstream_error", "Bearer sk-abcdefghijklmnopqrstuvwx failed"))
    assert "abcdefghij" not in shown.message


async def test_a_round_that_is_asked_for_again_is_a_failed_one_that_cost_tokens() -> None:
    async with running_engine(UP) as engine:
        account = opened(engine)
        account.start(TARGET)
        account.closed(Close("completed", usage=usage_of(3, 2)), [], again=True)
        (record,) = engine.usage.records
    assert (record.code, record.input_tokens) == ("invalid_tool_arguments", 3)


TOLD: dict[str, tuple[Call, list[tuple[str, list[str]]], bool]] = {
    "right": (GOOD, [], True),
    "repaired": (REPAIRABLE, [("call_repaired", ["other_key"])], False),
    "renamed": (Call("applypatch", GOOD.arguments), [("call_renamed", ["drifted_name"])], True),
    "refused": (WRONG_TYPE, [("call_refused", [])] * 2, False),
    "no patch": (NO_PATCH, [("call_not_a_patch", [])] * 2, False),
}


@WIRES
@pytest.mark.parametrize(("call", "told", "live"), TOLD.values(), ids=TOLD)
@pytest.mark.requirement("P4", "P8")
async def test_calls_that_were_not_right_are_logged_without_a_word_of_theirs(
    wire: str, call: Call, told: list[tuple[str, list[str]]], live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[dict[str, Any]] = []
    monkeypatch.setattr(
        module.log, "info", lambda event, **more: logged.append({"event": event, **more}), raising=False
    )
    async with one_upstream(wire, answers(wire, call)) as (engine, _):
        await run_turn(engine, request(), RecordingSink())
        assert engine.previews.live("up", "m") is live
        rules = [rule for record in engine.usage.records for rule in record.repairs]
        assert engine.usage.repairs == {("up", "m", rule): 1 for rule in rules}
    assert [(each["event"], each["rules"]) for each in logged] == told
    assert [rule for _, names in told for rule in names] == rules
    for each in logged:
        assert each.keys() == {"event", "provider", "model", "rules", "size"}
        assert (each["provider"], each["model"]) == ("up", "m") and isinstance(each["size"], int)
