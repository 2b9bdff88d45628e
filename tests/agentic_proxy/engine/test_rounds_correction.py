"""The corrective retry is a round: a model whose call cannot be used is asked again once, and no client sees it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from agentic_proxy.engine import pipeline, rounds
from support.engines import TOOL as FUNCTION
from support.engines import RecordingSink, kept, one_upstream, run_turn
from support.patch_turns import (
    CUT,
    GOOD,
    NO_PATCH,
    PATCH,
    REPAIRABLE,
    SEEN,
    SENTENCE,
    TOOL,
    USAGE,
    WRONG_TYPE,
    answers,
    check_places,
    configure,
    records,
    request,
    sent,
)
from support.raw_upstream import answer
from support.turns import Call, Incomplete, Say
from translators.apply_patch import reader, repair

WIRES = pytest.mark.parametrize("wire", ["responses", "chat"])
WAYS = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
REFUSED = ("invalid_tool_arguments", *USAGE)
TWICE = {"input_tokens": 200, "output_tokens": 20, "total_tokens": 220}
BAD = pytest.mark.parametrize("bad", [WRONG_TYPE, CUT, NO_PATCH], ids=["wrong_type", "cut", "no_patch"])


def sink_of(streaming: bool) -> RecordingSink | None:
    return RecordingSink() if streaming else None


def texts(response: Any) -> list[str]:
    return [item["input"] if "input" in item else item["content"][0]["text"] for item in response["output"]]


@WIRES
@WAYS
@BAD
@pytest.mark.requirement("R5", "D6")
async def test_the_model_is_asked_again_and_the_client_sees_one_answer(wire: str, streaming: bool, bad: Call) -> None:
    scripts = answers(wire, Say("Now. "), bad), answers(wire, Say("Again. "), GOOD)
    async with one_upstream(wire, *scripts) as (engine, upstream):
        sink = sink_of(streaming)
        outcome = await run_turn(engine, request(), sink)
        assert (outcome.status, outcome.code) == (200, None)
        assert outcome.response is not None
        assert texts(outcome.response) == ["Now. ", "Again. ", PATCH]
        assert {key: outcome.response["usage"][key] for key in TWICE} == TWICE
        assert records(engine) == [REFUSED, (None, *USAGE)]
        assert {record.response_id for record in engine.usage.records} == {outcome.response["id"]}
        assert len(upstream.requests) == 2
        stored = [line async for line in engine.store.export()]
        shown = b"".join(stored) + (sink.data if sink is not None else json.dumps(outcome.response).encode())
        assert b"RAW_SECRET" not in shown and b"was not run" not in shown
        if sink is not None:
            check_places(sink)
            assert sink.kinds().count("response.created") == 1


@WIRES
@BAD
async def test_the_second_request_holds_the_models_own_call_and_what_was_wrong_with_it(wire: str, bad: Call) -> None:
    scripts = answers(wire, Say("Now. "), bad), answers(wire, GOOD)
    async with one_upstream(wire, *scripts) as (engine, upstream):
        await run_turn(engine, request(), None)
        first, second = sent(upstream, 0), sent(upstream, 1)
        assert second[: len(first)] == first
        *before, call, output = second[len(first) :]
        if wire == "chat":
            assert call["content"] == "Now. " and before == []
            (made,) = call["tool_calls"]
            assert (output["role"], output["tool_call_id"]) == ("tool", made["id"])
            name, arguments, told = made["function"]["name"], made["function"]["arguments"], output["content"]
        else:
            assert [item["content"][0]["text"] for item in before] == ["Now. "]
            assert (call["type"], output["type"]) == ("function_call", "function_call_output")
            assert call["call_id"] == output["call_id"]
            name, arguments, told = call["name"], call["arguments"], output["output"]
        wrote = bad.arguments if isinstance(bad.arguments, str) else json.dumps(bad.arguments)
        assert name == "apply_patch"
        if bad is CUT:
            assert json.loads(arguments) == {"not_an_object": wrote}
        else:
            assert arguments == wrote
        assert told.startswith("This call was not run") and "*** Begin Patch" in told


@WIRES
@WAYS
async def test_two_refused_calls_end_in_one_failure_and_the_same_request_again_asks_once(
    wire: str, streaming: bool
) -> None:
    scripts = answers(wire, Say("Now. "), WRONG_TYPE), answers(wire, Say("Again. "), CUT)
    async with one_upstream(wire, *scripts) as (engine, upstream):
        first = await run_turn(engine, request(), sink_of(streaming))
        assert len(upstream.requests) == 2
        again = await run_turn(engine, request(), sink_of(streaming))
        assert len(upstream.requests) == 3
        other = await run_turn(engine, request(input="Make another."), sink_of(streaming))
        assert len(upstream.requests) == 5
        assert records(engine) == [REFUSED] * 5
        assert set((await kept(engine)).values()) <= {"failed"}
        for outcome, status, code in ((first, 502, "invalid_tool_arguments"), (again, 400, "invalid_prompt")):
            if streaming:
                assert (outcome.status, outcome.code) == (200, code)
                assert outcome.response is not None and outcome.sink is not None
                assert outcome.response["error"]["message"].startswith(SENTENCE)
                assert b"RAW_SECRET" not in outcome.sink.data
                check_places(outcome.sink)
            else:
                assert outcome.failure is not None
                assert (outcome.status, outcome.failure.stream_code) == (status, code)
                assert outcome.failure.message.startswith(SENTENCE)
        assert other.code == "invalid_tool_arguments"


@WIRES
@WAYS
async def test_what_is_no_patch_twice_is_handed_on_unchanged(wire: str, streaming: bool) -> None:
    async with one_upstream(wire, answers(wire, NO_PATCH)) as (engine, upstream):
        sink = sink_of(streaming)
        outcome = await run_turn(engine, request(), sink)
        assert (outcome.status, outcome.code) == (200, None)
        assert outcome.response is not None
        assert texts(outcome.response) == ["RAW_SECRET is no patch"]
        assert records(engine) == [REFUSED, (None, *USAGE)]
        assert len(upstream.requests) == 2
        again = await run_turn(engine, request(), sink_of(streaming))
        assert again.code is None and len(upstream.requests) == 4
        if sink is not None:
            check_places(sink)


BESIDE: dict[str, tuple[tuple[Any, ...], bool]] = {
    "good function beside it": ((Call("run", {}), WRONG_TYPE), True),
    "good patch beside it": ((GOOD, WRONG_TYPE), True),
    "good call behind it": ((WRONG_TYPE, Call("run", {})), True),
    "shown before it went wrong": ((SEEN,), False),
    "a function is shown as it comes": ((Call("run", "[RAW"),), False),
}


@WIRES
@pytest.mark.parametrize(("items", "blocking_too"), BESIDE.values(), ids=BESIDE)
async def test_nobody_is_asked_again_beside_a_good_call_or_when_anything_of_the_call_was_shown(
    wire: str, items: tuple[Any, ...], blocking_too: bool
) -> None:
    async with one_upstream(wire, answers(wire, *items)) as (engine, upstream):
        outcome = await run_turn(engine, request(tools=[TOOL, FUNCTION]), RecordingSink())
        assert (outcome.status, outcome.code) == (200, "invalid_tool_arguments")
        assert (len(upstream.requests), records(engine)) == (1, [REFUSED])
        assert outcome.sink is not None
        assert b"function_call_arguments.done" not in outcome.sink.data
        assert b"custom_tool_call_input.done" not in outcome.sink.data
    async with one_upstream(wire, answers(wire, *items)) as (engine, upstream):
        blocking = await run_turn(engine, request(tools=[TOOL, FUNCTION]), None)
        assert blocking.status == 502
        assert len(upstream.requests) == (1 if blocking_too else 2), "nothing is shown to a client that waits"


@WIRES
async def test_a_defective_call_that_was_shown_is_handed_on_at_once(wire: str) -> None:
    text = PATCH.replace("*** End Patch", "no line of a patch\n*** End Patch")
    async with one_upstream(wire, answers(wire, Call("apply_patch", {"input": text}))) as (engine, upstream):
        outcome = await run_turn(engine, request(), RecordingSink())
        assert outcome.response is not None
        assert (texts(outcome.response), len(upstream.requests)) == ([text], 1)


@WIRES
@WAYS
async def test_a_model_that_was_cut_off_is_not_asked_again(wire: str, streaming: bool) -> None:
    items = Say("Now. "), GOOD, CUT
    async with one_upstream(wire, answers(wire, *items, fault=Incomplete(items=items))) as (engine, upstream):
        sink = sink_of(streaming)
        outcome = await run_turn(engine, request(), sink)
        assert outcome.response is not None
        assert outcome.response["status"] == "incomplete"
        assert outcome.response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert texts(outcome.response) == ["Now. ", PATCH]
        assert (len(upstream.requests), records(engine)) == (1, [(None, *USAGE)])
        assert engine.previews.live("up", "m"), "a limit is not the model's mistake"
        if sink is not None:
            check_places(sink)
            assert b"RAW_SECRET" not in sink.data


@WIRES
async def test_a_fault_of_the_second_round_is_the_turns_end(wire: str) -> None:
    broken = (answer(400, b'{"error":{"message":"too much","code":"odd"}}'),)
    async with one_upstream(wire, answers(wire, Say("Now. "), WRONG_TYPE), broken) as (engine, upstream):
        outcome = await run_turn(engine, request(), RecordingSink())
        assert (outcome.status, len(upstream.requests)) == (200, 2)
        assert [code for code, *_ in records(engine)] == ["invalid_tool_arguments", "upstream_rejected"]
        assert outcome.response is not None
        assert texts(outcome.response) == ["Now. "]
        assert outcome.response["usage"]["total_tokens"] == 110


async def test_the_number_of_rounds_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MAX_ROUNDS", 1)
    async with one_upstream("responses", answers("responses", Say("Now. "), WRONG_TYPE)) as (engine, upstream):
        outcome = await run_turn(engine, request(), RecordingSink())
        assert outcome.response is not None
        assert (outcome.response["status"], len(upstream.requests)) == ("incomplete", 1)
        assert texts(outcome.response) == ["Now. "]


@WIRES
async def test_after_a_repaired_call_the_next_twenty_are_not_shown_before_they_were_judged(wire: str) -> None:
    scripts = [answers(wire, REPAIRABLE), *[answers(wire, GOOD)] * 20, answers(wire, GOOD)]
    async with one_upstream(wire, *scripts) as (engine, _):
        writes = []
        for number in range(22):
            sink = RecordingSink()
            outcome = await run_turn(engine, request(input=str(number)), sink)
            assert outcome.response is not None
            assert texts(outcome.response) == [PATCH]
            assert outcome.response["output"][0]["type"] == "custom_tool_call"
            deltas = [event["delta"] for event in outcome.events if event["type"].endswith("input.delta")]
            assert "".join(deltas) == PATCH
            writes.append(len(deltas))
        live = writes.pop()
        assert set(writes) == {1}, "whole, in one event"
        assert live > 1
        assert [record.repairs for record in engine.usage.records] == [("other_key",), *[()] * 21]
        assert engine.usage.repairs == {("up", "m", "other_key"): 1}


@WIRES
@pytest.mark.parametrize("name", ["functions.apply_patch", "applypatch", "ApplyPatch"])
async def test_a_usual_wrong_name_is_the_patch_tool_and_keeps_its_preview(wire: str, name: str) -> None:
    async with one_upstream(wire, answers(wire, Call(name, {"input": PATCH}))) as (engine, upstream):
        outcome = await run_turn(engine, request(), RecordingSink())
        assert outcome.response is not None
        (item,) = outcome.response["output"]
        assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", PATCH)
        assert [record.repairs for record in engine.usage.records] == [("drifted_name",)]
        assert engine.previews.live("up", "m") and len(upstream.requests) == 1


@WIRES
async def test_rules_can_be_switched_off(wire: str) -> None:
    async with one_upstream(wire, answers(wire, REPAIRABLE), answers(wire, GOOD)) as (engine, upstream):
        configure(engine, other_key=False)
        outcome = await run_turn(engine, request(), RecordingSink())
        assert (outcome.code, len(upstream.requests)) == (None, 2)
        assert records(engine) == [REFUSED, (None, *USAGE)]


@WAYS
@pytest.mark.requirement("P7")
async def test_a_host_that_cannot_read_its_models_call_is_asked_once_more_and_keeps_its_key(streaming: bool) -> None:
    told = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    error = {"message": told, "code": "tool_use_failed", "failed_generation": "RAW_SECRET"}
    refused = (answer(400, json.dumps({"error": error}).encode(), "x-should-retry: true"),)
    good = answers("chat", Say("Done."))
    async with one_upstream("chat", refused, good, refused, refused, refused, refused) as (engine, upstream):
        outcome = await run_turn(engine, request(), sink_of(streaming))
        assert outcome.response is not None
        assert (texts(outcome.response), len(upstream.requests)) == (["Done."], 2)
        first = await run_turn(engine, request(input="Make another."), sink_of(streaming))
        assert len(upstream.requests) == 4
        again = await run_turn(engine, request(input="Make another."), sink_of(streaming))
        assert len(upstream.requests) == 5
        for outcome, status, code in ((first, 502, "invalid_tool_arguments"), (again, 400, "invalid_prompt")):
            assert outcome.failure is not None
            assert (outcome.status, outcome.failure.stream_code) == (status, code)
            assert told in outcome.failure.message and "RAW_SECRET" not in outcome.failure.message
        assert engine.outages.listing(engine.config.providers) == []


@WIRES
@WAYS
async def test_other_streams_do_not_wait_while_a_large_patch_is_repaired(
    wire: str, streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[int] = []

    def judged(*arguments: Any, **options: Any) -> Any:
        where.append(threading.get_ident())
        return repair.repair(*arguments, **options)

    monkeypatch.setattr(reader, "repair", judged)
    monkeypatch.setattr(pipeline, "LARGE", 7000)
    large = PATCH.replace("+one", "+" + "x" * 4000 + "\n+one")
    scripts = [answers(wire, Call("apply_patch", {"patch": text})) for text in (PATCH, large)]
    async with one_upstream(wire, *scripts) as (engine, _):
        for text in (PATCH, large):
            outcome = await run_turn(engine, request(), sink_of(streaming))
            assert outcome.response is not None
            assert texts(outcome.response) == [text]
    assert [ident == threading.get_ident() for ident in where] == [True, False]
