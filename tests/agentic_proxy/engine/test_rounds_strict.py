"""Mode strict keeps the contract of the seed: any end but a proper one is one failure, with one code and one sentence,
and nothing is asked again. Modes can be set for all models and for one."""

from __future__ import annotations

import json

import pytest

from agentic_proxy.config.model import Model, PatchMode
from support.engines import Outcome, RecordingSink, body, kept, one_upstream, run_turn
from support.patch_streams import (
    ADDED,
    ARGUMENTS,
    CALL,
    CREATED,
    DONE,
    ENDS,
    FAILS,
    ITEM,
    ITEM_DONE,
    TEXT,
    body_of,
    delta,
    event,
    tool_call,
)
from support.patch_turns import (
    CUT,
    NO_PATCH,
    PATCH,
    REPAIRABLE,
    SENTENCE,
    USAGE,
    WRONG_TYPE,
    answers,
    configure,
    records,
    request,
)
from support.raw_upstream import CLOSE, OK, RESET, Script, Seen, chunk
from support.turns import Call

WIRES = pytest.mark.parametrize("wire", ["responses", "chat"])
WAYS = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])


def check_failed(outcome: Outcome, *, seen: bool) -> None:
    """Exactly one failure: as an event when the head was out, else as an HTTP status."""
    if seen:
        assert (outcome.status, outcome.code) == (200, "invalid_tool_arguments")
        assert outcome.response is not None and outcome.sink is not None
        assert outcome.response["error"]["message"] == SENTENCE
        assert outcome.response["output"] == []
        kinds = outcome.sink.kinds()
        assert kinds.count("response.failed") == 1 and "error" not in kinds
        assert not any("completed" in kind or kind.endswith(("item.done", "input.done")) for kind in kinds)
        assert b"[DONE]" not in outcome.sink.data
    else:
        assert (outcome.status, outcome.code) == (502, "invalid_tool_arguments")
        assert outcome.failure is not None
        assert (outcome.failure.message, outcome.failure.blames_credential) == (SENTENCE, False)
        assert outcome.sink is None or outcome.sink.writes == []


@WAYS
@pytest.mark.parametrize(("name", "wire"), [(name, wire) for name, by_wire in FAILS.items() for wire in by_wire])
@pytest.mark.requirement("R6", "AP1", "AP2", "AP3", "AP4", "AP10", "AP22")
async def test_an_end_without_a_proper_close_is_one_failure(name: str, wire: str, streaming: bool) -> None:
    async with one_upstream(wire, body_of(FAILS[name][wire])) as (engine, upstream):
        configure(engine, "strict")
        outcome = await run_turn(engine, request(), RecordingSink() if streaming else None)
        # Where the read that brings the marker is the failing one, its first event still lets the head out.
        check_failed(outcome, seen=streaming and name != "empty")
        assert outcome.sink is None or b"RAW_SECRET" not in outcome.sink.data
        assert len(upstream.requests) == 1
        assert [record.code for record in engine.usage.records] == ["invalid_tool_arguments"]
        assert set((await kept(engine)).values()) <= {"failed"}


@WAYS
@pytest.mark.parametrize(("name", "wire"), [(name, wire) for name, by_wire in ENDS.items() for wire in by_wire])
@pytest.mark.requirement("AP5")
async def test_a_proper_close_releases_the_text_and_one_done_marker(name: str, wire: str, streaming: bool) -> None:
    async with one_upstream(wire, body_of(ENDS[name][wire])) as (engine, _):
        configure(engine, "strict")
        outcome = await run_turn(engine, request(), RecordingSink() if streaming else None)
        assert (outcome.status, outcome.code) == (200, None)
        assert outcome.response is not None
        assert outcome.response["status"] == ("incomplete" if name == "response.incomplete" else "completed")
        (item,) = outcome.response["output"]
        assert (item["type"], item["call_id"], item["input"]) == ("custom_tool_call", "c", TEXT)
        assert records(engine) == [(None, 5, 3)]


@WIRES
@WAYS
@pytest.mark.parametrize("end", ["content length", "reset", "close"])
@pytest.mark.requirement("AP19")
async def test_a_body_that_breaks_off_is_the_same_failure(wire: str, streaming: bool, end: str) -> None:
    data = FAILS["arguments, then the end"][wire]
    seen = Seen(b"response.in_progress")
    script: Script = (OK, chunk(data), seen, RESET if end == "reset" else CLOSE)
    if end == "content length":
        script = (b"HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n" + data, seen, CLOSE)
    async with one_upstream(wire, script) as (engine, upstream):
        configure(engine, "strict")
        sink = RecordingSink() if streaming else None
        upstream.seen = sink.seen if sink is not None else None
        check_failed(await run_turn(engine, request(), sink), seen=streaming)
        assert (len(upstream.requests), len(engine.usage.records)) == (1, 1)


@WIRES
@WAYS
@pytest.mark.parametrize("bad", [WRONG_TYPE, CUT, REPAIRABLE], ids=["wrong_type", "cut", "other_key"])
@pytest.mark.requirement("AP20", "D6")
async def test_arguments_that_are_not_exact_fail_every_time_alike(wire: str, streaming: bool, bad: Call) -> None:
    async with one_upstream(wire, answers(wire, bad)) as (engine, upstream):
        configure(engine, "strict")
        for _ in range(2):
            outcome = await run_turn(engine, request(), RecordingSink() if streaming else None)
            check_failed(outcome, seen=streaming)
            # Text that was right so far has been shown; what made the call wrong never is.
            assert outcome.sink is None or bad is CUT or b"RAW_SECRET" not in outcome.sink.data
        assert len(upstream.requests) == 2
        assert records(engine) == [("invalid_tool_arguments", *USAGE)] * 2


@WIRES
async def test_text_that_is_no_patch_passes_for_only_the_envelope_is_judged(wire: str) -> None:
    async with one_upstream(wire, answers(wire, NO_PATCH)) as (engine, upstream):
        for mode in ("strict", "pass"):
            configure(engine, mode)  # type: ignore[arg-type]
            outcome = await run_turn(engine, request(), RecordingSink())
            assert outcome.response is not None
            assert outcome.response["output"][0]["input"] == "RAW_SECRET is no patch"
        assert len(upstream.requests) == 2


@WIRES
@WAYS
@pytest.mark.requirement("AP12")
async def test_a_function_that_is_merely_called_apply_patch_has_the_usual_faults(wire: str, streaming: bool) -> None:
    function = {"type": "function", "name": "apply_patch", "parameters": {"type": "object", "properties": {}}}
    for data, code in ((b"", "upstream_empty"), (FAILS["arguments, then the end"][wire], "upstream_closed")):
        async with one_upstream(wire, body_of(data)) as (engine, _):
            configure(engine, "strict")
            outcome = await run_turn(engine, body(tools=[function]), RecordingSink() if streaming else None)
            assert outcome.code == code
            assert [record.code for record in engine.usage.records] == [code]


MODES: dict[str, tuple[PatchMode, PatchMode | None, PatchMode]] = {
    "strict for all": ("strict", None, "strict"),
    "strict for one": ("repair", "strict", "strict"),
    "pass for all": ("pass", None, "pass"),
    "pass for one": ("strict", "pass", "pass"),
    "repair for one": ("strict", "repair", "repair"),
}


@WIRES
@pytest.mark.parametrize(("everywhere", "here", "rules"), MODES.values(), ids=MODES)
async def test_the_mode_of_a_model_goes_before_the_general_one(
    wire: str, everywhere: PatchMode, here: PatchMode | None, rules: PatchMode
) -> None:
    models = (Model("m", patch_mode=here),)
    async with one_upstream(wire, answers(wire, REPAIRABLE), models=models) as (engine, upstream):
        configure(engine, everywhere)
        outcome = await run_turn(engine, request(), None)
        if rules == "repair":
            assert outcome.response is not None
            assert outcome.response["output"][0]["input"] == PATCH
        else:
            check_failed(outcome, seen=False)
        assert len(upstream.requests) == 1


@WIRES
async def test_mode_pass_fails_once_and_the_same_request_again_stops_the_client(wire: str) -> None:
    async with one_upstream(wire, answers(wire, WRONG_TYPE)) as (engine, upstream):
        configure(engine, "pass")
        codes = [(await run_turn(engine, request(), RecordingSink())).code for _ in range(2)]
        assert (codes, len(upstream.requests)) == (["invalid_tool_arguments", "invalid_prompt"], 2)


OTHER = json.dumps({"input": "another patch"})
IDENTITIES: dict[str, dict[str, bytes]] = {
    "another name at the end": {
        "responses": CREATED + ADDED + event("response.output_item.done", output_index=0, item={**ITEM, "name": "exec"})
    },
    "other arguments at the end": {
        "responses": CREATED
        + ADDED
        + event("response.function_call_arguments.delta", item_id="a", output_index=0, delta=ARGUMENTS)
        + event("response.output_item.done", output_index=0, item={**ITEM, "arguments": OTHER}),
        "chat": CALL + tool_call(arguments=OTHER),
    },
}
LATE: dict[str, dict[str, bytes]] = {
    "name at the end": {
        "responses": CREATED
        + event("response.output_item.added", output_index=0, item={**ITEM, "name": "", "arguments": ""})
        + event("response.function_call_arguments.delta", item_id="a", output_index=0, delta=ARGUMENTS)
        + ITEM_DONE,
        "chat": tool_call(arguments=ARGUMENTS) + tool_call(name="apply_patch"),
    },
    "another id in between": {
        "responses": CREATED
        + ADDED
        + event("response.function_call_arguments.delta", item_id="z", output_index=0, delta=ARGUMENTS)
        + ITEM_DONE
    },
}
CLOSES = {"responses": event("response.completed", response={"id": "r"}), "chat": delta("tool_calls") + DONE}


@pytest.mark.parametrize("mode", ["strict", "repair"])
@pytest.mark.parametrize(("name", "wire"), [(name, wire) for name, by_wire in IDENTITIES.items() for wire in by_wire])
@pytest.mark.requirement("AP14")
async def test_a_call_that_contradicts_itself_fails_on_every_wire(name: str, wire: str, mode: PatchMode) -> None:
    async with one_upstream(wire, body_of(IDENTITIES[name][wire] + CLOSES[wire])) as (engine, _):
        configure(engine, mode)
        outcome = await run_turn(engine, request(), None)
        assert (outcome.status, outcome.code) == (502, "invalid_tool_arguments")


@pytest.mark.parametrize("mode", ["strict", "pass"])
@pytest.mark.parametrize(("name", "wire"), [(name, wire) for name, by_wire in LATE.items() for wire in by_wire])
@pytest.mark.requirement("AP14")
async def test_an_identity_that_comes_late_or_with_noise_is_that_of_its_place(
    name: str, wire: str, mode: PatchMode
) -> None:
    async with one_upstream(wire, body_of(LATE[name][wire] + CLOSES[wire])) as (engine, _):
        configure(engine, mode)
        outcome = await run_turn(engine, request(), RecordingSink())
        assert outcome.response is not None
        (item,) = outcome.response["output"]
        assert (item["type"], item["call_id"], item["input"]) == ("custom_tool_call", "c", TEXT)
