"""Compaction on any upstream: one request without tools, one sealed item, and the history stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.engine.compaction import check
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.store.base import ConversationRow
from support.breaks import FRAMES, REQUEST, WHOLE, whole
from support.engines import TOOL, Outcome, RecordingSink, kept, one_upstream, run_turn
from support.raw_upstream import RESET, RawUpstream, Script, answer
from support.turns import Call, Item, Json, Say
from support.websocket import sent, texts, user
from support.wires import USAGE_IN, USAGE_OUT
from translators import envelope
from translators.failure import Failure
from translators.responses.compaction import CONTINUE, HEADING, PROMPT, user_message

WIRES = ("responses", "chat")
TRIGGER: Json = {"type": "compaction_trigger"}
SAID: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I did"}]}
HISTORY = [user("do it"), SAID]
FIVE = ["response.created", "response.in_progress", "response.output_item.added", "response.output_item.done",
        "response.completed"]  # fmt: skip
NEVER: Script = (answer(500, b"{}"),)


def played(*items: Item, wire: str = "responses") -> Script:
    """A whole stream of these items, with usage."""
    return whole(b"".join(FRAMES[wire](REQUEST, items, None)))  # type: ignore[arg-type]


def request(*items: Json, **fields: Any) -> Json:
    return {"model": "m", "input": list(items), "tools": [TOOL], **fields}


def history_sent(upstream: RawUpstream, wire: str, index: int = -1) -> list[str]:
    """Role and text of everything that went upstream."""
    body = sent(upstream, index)
    return texts(body["messages"] if wire == "chat" else body["input"])


def compacted(outcome: Outcome) -> Json:
    """The compaction item of a response."""
    assert outcome.response is not None
    (item,) = (item for item in outcome.response["output"] if item["type"] == "compaction")
    assert isinstance(item, dict)
    return item


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.requirement("U10")
@pytest.mark.requirement("U11")
@pytest.mark.requirement("R13")
async def test_a_trigger_gives_one_sealed_item_the_usage_of_the_summary_and_five_events(
    wire: str, streaming: bool
) -> None:
    async with one_upstream(wire, played(Say("SUMMARY"), wire=wire)) as (engine, upstream):
        outcome = await run_turn(
            engine, request(*HISTORY, TRIGGER, tool_choice="required"), RecordingSink() if streaming else None
        )
        (body,) = (sent(upstream),)
        assert len(upstream.requests) == 1
        assert [record.code for record in engine.usage.records] == [None]
        key = engine.key
    assert outcome.response is not None
    response = outcome.response
    assert (response["status"], [item["type"] for item in response["output"]]) == ("completed", ["compaction"])
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (USAGE_IN, USAGE_OUT)
    item = compacted(outcome)
    assert item["id"].startswith("cmp_")
    assert b"SUMMARY" in envelope.unseal(key, envelope.COMPACTION, item["encrypted_content"])
    assert history_sent(upstream, wire) == ["user: do it", "assistant: I did", f"user: {PROMPT}"]
    assert "compaction_trigger" not in str(body)
    assert "tools" not in body and "tool_choice" not in body
    if streaming:
        assert [event["type"] for event in outcome.events] == FIVE
        assert outcome.events[3]["item"] == item
        assert outcome.events[2]["item"] == {**item, "encrypted_content": ""}


@pytest.mark.parametrize("back", ["stored", "connection", "items"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.requirement("U12")
async def test_the_next_turn_sees_the_users_words_and_the_summary(wire: str, back: str) -> None:
    scripts = (played(Call("run", {}), wire=wire), played(Say("SUMMARY"), wire=wire), played(Say("ok"), wire=wire))
    async with one_upstream(wire, *scripts) as (engine, upstream):
        local = LocalWindows(1 << 20) if back == "connection" else None
        options = {"store": back == "stored"}

        async def turn(body: Json) -> Json:
            return await engine.run(TurnRequest("responses", body, False, local), None)

        first = await turn(request(user("do it"), **options))
        (call,) = first["output"]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "done"}
        if back == "items":
            second = await turn(request(user("do it"), call, output, TRIGGER, **options))
            last = request(user("do it"), *second["output"], user("go on"), **options)
        else:
            second = await turn(request(output, TRIGGER, previous_response_id=first["id"], **options))
            last = request(user("go on"), previous_response_id=second["id"], **options)
        assert (await turn(last))["status"] == "completed"
        seen = history_sent(upstream, wire)
    assert seen == ["user: do it", f"assistant: {HEADING}SUMMARY", "user: go on"]


async def test_a_summary_in_a_conversation_covers_what_stands_before_it() -> None:
    async with one_upstream("chat", played(Say("SUMMARY"), wire="chat")) as (engine, upstream):
        await engine.store.create_conversation(ConversationRow("conv_1", 1, b"{}"), [])
        for item in (user("do it"), TRIGGER, user("go on")):
            await run_turn(engine, request(item, conversation="conv_1"), None)
        window = await engine.store.conversation_window("conv_1")
        assert window is not None
        assert b"compaction_trigger" not in b"".join(window.items)
        assert history_sent(upstream, "chat") == ["user: do it", f"assistant: {HEADING}SUMMARY", "user: go on"]


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
@pytest.mark.parametrize(
    ("script", "code", "status"),
    [
        ((answer(500, b"{}"),), "upstream_error", 502),
        ((answer(401, b"{}"),), "upstream_auth", 403),
        ((RESET,), "upstream_unreachable", 502),
        (played(), "upstream_empty", 502),
        (played(Say(" \n")), "upstream_empty", 502),
        (played(Call("run", {})), "upstream_empty", 502),
    ],
    ids=["http_500", "http_401", "reset", "no_output", "blank", "a_call"],
)
async def test_a_failed_summary_is_one_clear_error_and_leaves_the_history_as_it_was(
    script: Script, code: str, status: int, streaming: bool, no_pauses: None
) -> None:
    async with one_upstream("responses", played(Say("hello")), script) as (engine, _):
        first = await run_turn(engine, request(user("do it")), None)
        assert first.response is not None
        before, window = await kept(engine), await engine.store.window(first.response["id"])
        body = request(TRIGGER, previous_response_id=first.response["id"])
        outcome = await run_turn(engine, body, RecordingSink() if streaming else None)
        assert outcome.failure is not None
        assert (outcome.failure.code, outcome.status) == (code, status)
        assert "compact" in outcome.failure.message
        assert await kept(engine) == before
        assert await engine.store.window(first.response["id"]) == window


@pytest.mark.parametrize("items", [[TRIGGER], []])
async def test_nothing_to_compact_is_refused_before_any_request(items: list[Json]) -> None:
    async with one_upstream("chat", NEVER) as (engine, upstream):
        if items:
            outcome = await run_turn(engine, request(*items), RecordingSink())
            assert (outcome.status, outcome.code) == (400, "invalid_request_error")
        else:
            with pytest.raises(Failure, match="nothing to compact"):
                await engine.compact(request(*items))
        assert upstream.requests == []


def management(limit: int) -> Json:
    return {"context_management": [{"type": "compaction", "compact_threshold": limit}]}


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
@pytest.mark.parametrize("wire", WIRES)
async def test_above_the_threshold_a_summary_comes_first_and_usage_is_summed(wire: str, streaming: bool) -> None:
    scripts = (played(Say("SUMMARY"), wire=wire), played(Say("answer"), wire=wire))
    async with one_upstream(wire, *scripts) as (engine, upstream):
        long = [user("x" * 4000), {**SAID}, user("now?")]
        outcome = await run_turn(engine, request(*long, **management(500)), RecordingSink() if streaming else None)
        assert outcome.response is not None
        assert len(upstream.requests) == 2
        assert "tools" not in sent(upstream, 0)
        assert history_sent(upstream, wire, 0)[-2:] == ["user: now?", f"user: {PROMPT}"]
        assert history_sent(upstream, wire) == [f"assistant: {HEADING}SUMMARY", "user: now?"]
        assert len(sent(upstream)["tools"]) == 1
        follow = await run_turn(
            engine, request(user("and?"), previous_response_id=outcome.response["id"], **management(500)), None
        )
        assert follow.status == 200
        assert len(upstream.requests) == 3, "the summary serves the next turn as well"
        assert history_sent(upstream, wire) == [
            "user: now?", f"assistant: {HEADING}SUMMARY", f"user: {CONTINUE}", "assistant: answer", "user: and?",
        ]  # fmt: skip
    response = outcome.response
    assert [item["type"] for item in response["output"]] == ["compaction", "message"]
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (2 * USAGE_IN, 2 * USAGE_OUT)
    if streaming:
        done = [event for event in outcome.events if event["type"] == "response.output_item.done"]
        assert [(event["output_index"], event["item"]) for event in done] == list(enumerate(response["output"]))


@pytest.mark.parametrize(
    ("limit", "items"),
    [(100_000, [user("x" * 4000)]), (500, [user("short")]), (None, [user("x" * 4000)])],
    ids=["high", "short", "none"],
)
async def test_below_the_threshold_nothing_happens(limit: int | None, items: list[Json]) -> None:
    entry: Json = {"type": "compaction"} if limit is None else {"type": "compaction", "compact_threshold": limit}
    async with one_upstream("chat", played(Say("answer"), wire="chat")) as (engine, upstream):
        outcome = await run_turn(engine, request(*items, context_management=[entry]), RecordingSink())
        assert (outcome.code, len(upstream.requests)) == (None, 1)


async def test_another_target_may_answer_after_a_compaction(no_pauses: None) -> None:
    scripts = (played(Say("SUMMARY")), (answer(503, b"{}"),), played(Say("answer")))
    async with one_upstream("responses", *scripts) as (engine, upstream):
        outcome = await run_turn(engine, request(user("x" * 4000), SAID, user("?"), **management(500)), RecordingSink())
        assert len(upstream.requests) == 3
    assert outcome.response is not None
    assert [item["type"] for item in outcome.response["output"]] == ["compaction", "message"]


def native(engine: Engine) -> None:
    engine.config = replace(engine.config, compaction="native")


async def test_natively_the_trigger_the_threshold_and_the_providers_item_go_through() -> None:
    theirs = {"type": "compaction", "id": "cmp_theirs", "encrypted_content": "gAAAA"}
    async with one_upstream("responses", played(Say("ok"))) as (engine, upstream):
        native(engine)
        await run_turn(engine, request(theirs, user("x" * 4000), **management(10)), None)
        body = sent(upstream)
        assert body["input"][0] == theirs
        assert body["context_management"] == management(10)["context_management"]
        assert list(body)[-1] == "input"
        outcome = await run_turn(engine, request(user("hi"), TRIGGER), None)
        assert sent(upstream)["input"][-1]["type"] == "compaction_trigger"
        assert (outcome.status, outcome.code) == (502, "upstream_invalid_response"), "no state came"
        assert len(upstream.requests) == 2


async def test_natively_a_chat_upstream_is_asked_for_a_summary_all_the_same() -> None:
    async with one_upstream("chat", played(Say("SUMMARY"), wire="chat")) as (engine, upstream):
        native(engine)
        outcome = await run_turn(engine, request(*HISTORY, TRIGGER), None)
        assert compacted(outcome)["encrypted_content"].startswith("apx1.")
        assert "tools" not in sent(upstream)


@pytest.mark.parametrize(
    "output", [[], [SAID], [{"type": "compaction"}], [{"type": "compaction", "encrypted_content": ""}]]
)
def test_an_answer_without_state_is_no_compaction(output: list[Json]) -> None:
    with pytest.raises(Failure) as caught:
        check(output)
    assert caught.value.code == "upstream_invalid_response"
    check([{"type": "compaction", "encrypted_content": "x"}])


async def test_a_foreign_item_is_left_out_where_the_upstream_cannot_read_it() -> None:
    theirs = {"type": "compaction", "encrypted_content": "gAAAA"}
    async with one_upstream("chat", whole(WHOLE["chat"])) as (engine, upstream):
        outcome = await run_turn(engine, request(theirs, user_message("go on")), RecordingSink())
        assert (outcome.status, outcome.code) == (200, None)
        assert b"gAAAA" not in upstream.requests[0].body
        assert b"go on" in upstream.requests[0].body
