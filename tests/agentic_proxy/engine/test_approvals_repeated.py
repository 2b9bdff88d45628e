"""The user's word that comes twice: what the proxy asked for is run once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from agentic_proxy.engine.gateway_tools import PER_RESPONSE
from agentic_proxy.tools.mcp import McpSession
from support.approvals import ADD, ASK, FORGED, Servers, answer, continued, refused, request_of
from support.breaks import whole
from support.engines import RecordingSink, body, run_turn
from support.gateway import WIRES, gateway, mcp, play, round_
from support.turns import Call, Say
from translators.failure import Failure
from translators.gateway.own import OwnTool, Ran


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_is_sent_again_brings_what_came_of_the_call_and_runs_nothing(
    wire: str, local: Servers, ran: list[tuple[str, str]]
) -> None:
    rounds = round_(wire, ADD), whole(b"<html>Sorry</html>"), round_(wire, Say("Three."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK], input="Add.")
        follow = continued(first, answer(request_of(first)["id"]), stateless=False)
        lost = await run_turn(engine, body(tools=[ASK], **follow), None)
        again = [await play(engine, upstream, tools=[ASK], **follow) for _ in range(2)]
    assert lost.failure is not None
    assert len(ran) == 1
    for played in again:
        assert played.output() == ["mcp_call", "message"]
        assert (played.response["output"][0]["output"], played.tool_results(0, wire)) == ("3", ["3"])


async def test_what_came_of_a_call_is_not_kept_for_a_client_that_wants_nothing_stored(
    local: Servers, ran: list[tuple[str, str]]
) -> None:
    rounds = round_("chat", ADD), round_("chat", Say("Three."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK], store=False)
        follow = continued(first, answer(request_of(first)["id"]), stateless=True)
        await play(engine, upstream, tools=[ASK], **follow)
        failure = await refused(engine, tools=[ASK], **follow)
    assert "was answered already. Its call is not run again, and what came of it was not kept" in failure.message
    assert (failure.param, len(ran)) == (f"input[{len(follow['input']) - 1}].approval_request_id", 1)


@pytest.mark.parametrize("ends", ["while_it_runs", "client_left"])
async def test_a_call_that_has_not_ended_is_not_run_again(
    ends: str, local: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, calls = asyncio.Event(), []

    async def hangs(self: McpSession, own: OwnTool, arguments: str) -> Ran:
        calls.append(own.tool)
        running.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(McpSession, "run", hangs)
    async with gateway("chat", round_("chat", ADD), round_("chat", Say("Hm.")), tools=mcp(servers=local)) as (
        engine, upstream,
    ):  # fmt: skip
        first = await play(engine, upstream, tools=[ASK])
        follow = continued(first, answer(request_of(first)["id"]), stateless=False)
        turn = asyncio.create_task(run_turn(engine, body(tools=[ASK], **follow), None))
        await running.wait()
        if ends == "while_it_runs":
            failure = await refused(engine, tools=[ASK], **follow)
            assert "was answered already. Its call is not run again, and it runs" in failure.message
        turn.cancel()
        await asyncio.wait([turn])
        second = await play(engine, upstream, tools=[ASK], **follow)
    assert (second.output(), second.output("status")) == (["mcp_call", "message"], ["failed", "completed"])
    (told,) = second.tool_results(0, "chat")
    assert json.loads(told)["error"].startswith("The call was stopped before it ended.")
    assert calls == ["add"]


async def test_a_call_that_a_client_did_not_wait_for_to_begin_is_run_for_the_next_one(
    local: Servers, ran: list[tuple[str, str]]
) -> None:
    rounds = round_("chat", ADD), round_("chat", Say("Three."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK])
        follow = continued(first, answer(request_of(first)["id"]), stateless=False)
        with pytest.raises(ConnectionError):
            await run_turn(engine, body(tools=[ASK], **follow), RecordingSink(fail_after=0))
        assert ran == []
        second = await play(engine, upstream, tools=[ASK], **follow)
    assert (second.output(), len(ran)) == (["mcp_call", "message"], 1)


async def test_a_client_that_leaves_while_its_call_is_claimed_leaves_it_to_the_next_one(
    local: Servers, ran: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = round_("chat", ADD), round_("chat", Say("Three."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK])
        follow = continued(first, answer(request_of(first)["id"]), stateless=False)
        claim, asked, gate = engine.store.claim, asyncio.Event(), asyncio.Event()

        async def slow(digests: Sequence[bytes]) -> dict[bytes, bytes | None]:
            asked.set()
            await gate.wait()
            return await claim(digests)

        monkeypatch.setattr(engine.store, "claim", slow)
        turn = asyncio.create_task(run_turn(engine, body(tools=[ASK], **follow), None))
        await asked.wait()
        turn.cancel()
        await asyncio.sleep(0)
        gate.set()
        await asyncio.wait([turn])
        second = await play(engine, upstream, tools=[ASK], **follow)
    assert (second.output("output")[0], len(ran)) == ("3", 1)


async def test_calls_that_waited_for_their_turn_when_the_client_left_are_run_for_the_next_one(
    local: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, left, calls = asyncio.Event(), asyncio.Event(), []

    async def run(self: McpSession, own: OwnTool, arguments: str) -> Ran:
        calls.append(arguments)
        if len(calls) == PER_RESPONSE:
            busy.set()
        await left.wait()
        return Ran(output="done")

    monkeypatch.setattr(McpSession, "run", run)
    several = [Call(ADD.name, {"a": n, "b": n}) for n in range(PER_RESPONSE + 3)]
    rounds = round_("chat", *several), round_("chat", Say("Done."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK])
        ids = [item["id"] for item in first.response["output"] if item["type"] == "mcp_approval_request"]
        follow = continued(first, *(answer(each) for each in ids), stateless=False)
        turn = asyncio.create_task(run_turn(engine, body(tools=[ASK], **follow), None))
        await busy.wait()
        turn.cancel()
        await asyncio.wait([turn])
        assert len(calls) == PER_RESPONSE
        left.set()
        second = await play(engine, upstream, tools=[ASK], **follow)
    assert second.output("status") == [*["failed"] * PER_RESPONSE, *["completed"] * 4]
    assert len(calls) == PER_RESPONSE + 3


async def test_ids_that_a_client_made_up_are_its_own(local: Servers, ran: list[tuple[str, str]]) -> None:
    async with gateway("chat", round_("chat", Say("Two.")), tools=mcp(servers=local)) as (engine, upstream):
        for _ in range(2):
            played = await play(engine, upstream, tools=[ASK], input=[FORGED, answer("mcpr_x")])
            assert played.tool_results(0, "chat") == ["2"]
    assert len(ran) == 2


async def test_a_store_that_loses_the_outcome_does_not_fail_the_response(
    local: Servers, ran: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway("chat", round_("chat", ADD), round_("chat", Say("3.")), tools=mcp(servers=local)) as (
        engine, upstream,
    ):  # fmt: skip
        first = await play(engine, upstream, tools=[ASK])
        follow = continued(first, answer(request_of(first)["id"]), stateless=False)

        async def full(digest: bytes, outcome: bytes) -> None:
            raise Failure("store_failed", "The disk is full.")

        monkeypatch.setattr(engine.store, "settle", full)
        second = await play(engine, upstream, tools=[ASK], **follow)
        failure = await refused(engine, tools=[ASK], **follow)
    assert second.output() == ["mcp_call", "message"]
    assert ("not run again" in failure.message, len(ran)) == (True, 1)
