"""Calls that wait for the user's word: asked, approved, declined, and what a client may not make of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.config.model import McpServer
from support.approvals import ADD, ASK, FORGED, Servers, answer, continued, refused, request_of
from support.breaks import whole
from support.engines import RecordingSink, body, run_turn
from support.gateway import WIRES, gateway, mcp, play, round_
from support.sdk_mcp_server import HttpMcpServer
from support.turns import Call, Json, Say
from translators.failure import Failure

RUN: Json = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_that_needs_approval_ends_the_response_with_a_request(
    wire: str, local: Servers, ran: list[tuple[str, str]]
) -> None:
    async with gateway(wire, round_(wire, Say("I add."), ADD), tools=mcp(servers=local)) as (engine, upstream):
        played = await play(engine, upstream, tools=[ASK])
    request = request_of(played)
    assert played.output() == ["mcp_list_tools", "message", "mcp_approval_request"]
    assert request == {
        "id": request["id"], "type": "mcp_approval_request", "server_label": "local", "name": "add",
        "arguments": request["arguments"],
    }  # fmt: skip
    assert (request["id"][:5], json.loads(request["arguments"])) == ("mcpr_", {"a": 1, "b": 2})
    about = [event for event in played.events if event.get("output_index") == 2]
    assert [event["type"] for event in about] == ["response.output_item.added", "response.output_item.done"]
    assert [event["item"] for event in about] == [request, request]
    assert (ran, len(played.rounds), played.kinds[-1]) == ([], 1, "completed")


@pytest.mark.parametrize("stateless", [False, True], ids=["stored", "stateless"])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_approved_call_is_run_before_the_first_round(
    wire: str, stateless: bool, local: Servers, ran: list[tuple[str, str]]
) -> None:
    rounds = round_(wire, ADD), round_(wire, Say("Three.")), round_(wire, Say("Yes."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK], input="Add.")
        request = request_of(first)
        follow = continued(first, answer(request["id"]), stateless=stateless)
        second = await play(engine, upstream, tools=[ASK], **follow)
        user = {"type": "message", "role": "user", "content": "Sure?"}
        if stateless:
            again: Json = {"store": False, "input": [*follow["input"], *second.response["output"], user]}
        else:
            again = {"previous_response_id": second.response["id"], "input": [user]}
        third = await play(engine, upstream, tools=[ASK], **again)
    call, message = second.response["output"]
    assert call == {
        "id": call["id"], "type": "mcp_call", "status": "completed", "server_label": "local", "name": "add",
        "arguments": request["arguments"], "output": "3", "error": None, "approval_request_id": request["id"],
    }  # fmt: skip
    assert message["content"][0]["text"] == "Three."
    assert [event["type"].removeprefix("response.") for event in second.events if event.get("output_index") == 0] == [
        "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done",
        "mcp_call.completed", "output_item.done",
    ]  # fmt: skip
    assert second.tool_results(0, wire) == third.tool_results(0, wire) == ["3"]
    assert ran == [("add", request["arguments"])], "a history runs nothing again"
    key = "messages" if wire == "chat" else "input"
    before = second.rounds[0][key]
    assert third.rounds[0][key][: len(before)] == before


@pytest.mark.parametrize("wire", WIRES)
async def test_without_a_stream_it_is_the_same(wire: str, local: Servers) -> None:
    rounds = round_(wire, ADD), round_(wire, Say("Three."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, _):
        first = (await run_turn(engine, body(tools=[ASK]), None)).response
        assert first is not None
        request = first["output"][-1]
        follow = body(tools=[ASK], previous_response_id=first["id"], input=[answer(request["id"])])
        second = (await run_turn(engine, follow, None)).response
    assert second is not None
    kinds = [(item["type"], item["status"]) for item in second["output"]]
    assert (request["type"], kinds) == ("mcp_approval_request", [("mcp_call", "completed"), ("message", "completed")])


@pytest.mark.parametrize("stateless", [False, True], ids=["stored", "stateless"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_declined_call_is_an_output_with_the_reason(
    wire: str, stateless: bool, local: Servers, ran: list[tuple[str, str]]
) -> None:
    rounds = round_(wire, ADD), round_(wire, Say("Then not."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK], input="Add.")
        no = answer(request_of(first)["id"], False, reason="Too big")
        second = await play(engine, upstream, tools=[ASK], **continued(first, no, stateless=stateless))
    assert second.output() == ["message"]
    (told,) = second.tool_results(0, wire)
    assert json.loads(told) == {"error": "The user declined this call, so it was not run. Reason: Too big"}
    assert ran == []


POLICIES: dict[str, tuple[Any, str, list[str]]] = {
    "configured": (None, "never", ["mcp_call", "mcp_call"]),
    "configured_always": (None, "always", ["mcp_approval_request"] * 2),
    "always_is_not_lifted": ("never", "always", ["mcp_approval_request"] * 2),
    "one_each": ({"never": {"tool_names": ["add"]}}, "never", ["mcp_call", "mcp_approval_request"]),
    "the_other": (
        {"always": {"tool_names": ["add"]}, "never": {"tool_names": ["fail"]}}, "never",
        ["mcp_approval_request", "mcp_call"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "configured", "expected"), POLICIES.values(), ids=POLICIES)
async def test_who_says_which_tools_ask(local: Servers, asked: Any, configured: str, expected: list[str]) -> None:
    rounds = round_("chat", ADD, Call("mcp__local__fail", {"why": "no"})), round_("chat", Say("Done."))
    servers = {"local": McpServer(url=local["local"].url, require_approval=configured)}
    async with gateway("chat", *rounds, tools=mcp(servers=servers)) as (engine, upstream):
        played = await play(engine, upstream, tools=[{**ASK, "require_approval": asked}])
    assert played.output()[1:3] == expected
    assert len(played.rounds) == (1 if "mcp_approval_request" in expected else 2)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_a_request_declares_asks_unless_told_otherwise(wire: str) -> None:
    async with HttpMcpServer() as server:
        tool = {"type": "mcp", "server_label": "remote", "server_url": server.url}
        script = round_(wire, Call("mcp__remote__add", {"a": 1, "b": 2}))
        async with gateway(wire, script, tools=mcp(allowed_hosts=("127.0.0.1",))) as (engine, upstream):
            played = await play(engine, upstream, tools=[tool])
    assert played.output() == ["mcp_list_tools", "mcp_approval_request"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_of_the_clients_beside_it_goes_out_as_well(wire: str, local: Servers) -> None:
    rounds = round_(wire, Call("run", {}), ADD), round_(wire, Say("Both."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK, RUN])
        assert first.output() == ["mcp_list_tools", "function_call", "mcp_approval_request"]
        done = {"type": "function_call_output", "call_id": first.response["output"][1]["call_id"], "output": "ran"}
        items = [answer(request_of(first)["id"]), done]
        second = await play(engine, upstream, tools=[ASK, RUN], previous_response_id=first.response["id"], input=items)
    assert second.output() == ["mcp_call", "message"]
    assert sorted(second.tool_results(0, wire)) == ["3", "ran"]


REFUSED: dict[str, tuple[list[Json], str, str]] = {
    "unknown": ([answer("mcpr_unknown")], "input[0].approval_request_id", "'mcpr_unknown' names no"),
    "declined_unknown": ([answer("mcpr_unknown", False)], "input[0].approval_request_id", "names no"),
    "no_id": ([{"type": "mcp_approval_response", "approve": True}], "input[0].approval_request_id", "must be the id"),
    "no_word": ([FORGED, {**answer("mcpr_x"), "approve": 1}], "input[1].approve", "must be true or false"),
    "twice": ([FORGED, answer("mcpr_x"), answer("mcpr_x")], "input[2].approval_request_id", "answered already"),
    "undeclared_server": (
        [{**FORGED, "server_label": "other"}, answer("mcpr_x")], "input[1].approval_request_id", "does not declare",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("items", "param", "text"), REFUSED.values(), ids=REFUSED)
async def test_an_answer_to_nothing_is_a_400_that_names_it(
    local: Servers, ran: list[tuple[str, str]], items: list[Json], param: str, text: str
) -> None:
    tools = mcp(servers={**local, "other": local["local"]})
    async with gateway("chat", round_("chat", Say("Never.")), tools=tools) as (engine, upstream):
        failure = await refused(engine, tools=[ASK], input=items)
    assert (failure.code, failure.param) == ("invalid_request_error", param)
    assert text in failure.message
    assert (ran, upstream.requests) == ([], [])


async def test_a_stored_request_is_answered_once_in_a_chain(local: Servers, ran: list[tuple[str, str]]) -> None:
    rounds = round_("chat", ADD), round_("chat", Say("Three."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK])
        yes = answer(request_of(first)["id"])
        second = await play(engine, upstream, tools=[ASK], previous_response_id=first.response["id"], input=[yes])
        failure = await refused(engine, tools=[ASK], previous_response_id=second.response["id"], input=[yes])
    assert (failure.param, len(ran)) == ("input[0].approval_request_id", 1)


async def test_a_replayed_request_does_not_change_what_was_asked(local: Servers, ran: list[tuple[str, str]]) -> None:
    rounds = round_("chat", ADD), round_("chat", Say("Three."))
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK])
        request = request_of(first)
        items = [{**request, "name": "hang", "arguments": "{}"}, answer(request["id"])]
        await play(engine, upstream, tools=[ASK], previous_response_id=first.response["id"], input=items)
    assert ran == [("add", request["arguments"])]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_tool_that_the_request_does_not_allow_is_not_run(
    wire: str, local: Servers, ran: list[tuple[str, str]]
) -> None:
    async with gateway(wire, round_(wire, Say("No.")), tools=mcp(servers=local)) as (engine, upstream):
        tools = [{**ASK, "allowed_tools": ["fail"]}]
        played = await play(engine, upstream, tools=tools, input=[FORGED, answer("mcpr_x")])
    call = played.response["output"][1]
    assert (call["type"], call["status"], call["approval_request_id"]) == ("mcp_call", "failed", "mcpr_x")
    assert "this request has no such tool" in call["error"]["content"][0]["text"]
    assert ran == []


async def test_an_upstream_that_fails_afterwards_does_not_hide_that_the_call_was_run(local: Servers) -> None:
    rounds = round_("chat", ADD), whole(b"<html>Sorry</html>")
    async with gateway("chat", *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK])
        yes = answer(request_of(first)["id"])
        request = body(tools=[ASK], previous_response_id=first.response["id"], input=[yes])
        outcome = await run_turn(engine, request, RecordingSink())
    assert outcome.response is not None
    assert outcome.events[-1]["type"] == "response.failed"
    assert [item["type"] for item in outcome.events[-1]["response"]["output"]] == ["mcp_call"]


@pytest.mark.parametrize("stateless", [False, True], ids=["stored", "stateless"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_that_is_approved_beside_a_compaction_trigger_is_run_and_summarised(
    wire: str, stateless: bool, local: Servers, ran: list[tuple[str, str]]
) -> None:
    rounds = round_(wire, ADD), round_(wire, Say("SUMMARY")), round_(wire, Say("Yes."))
    async with gateway(wire, *rounds, tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK], input="Add.")
        request = request_of(first)
        trigger = {"type": "compaction_trigger"}
        follow = continued(first, answer(request["id"]), trigger, stateless=stateless)
        second = await play(engine, upstream, tools=[ASK], **follow)
        user = {"type": "message", "role": "user", "content": "Sure?"}
        if stateless:
            again: Json = {"store": False, "input": [*follow["input"][:-1], *second.response["output"], user]}
        else:
            again = {"previous_response_id": second.response["id"], "input": [user]}
        third = await play(engine, upstream, tools=[ASK], **again)
    assert second.output() == ["mcp_call", "compaction"]
    assert (second.response["output"][0]["output"], len(ran)) == ("3", 1)
    assert second.tool_results(0, wire) == ["3"], "the summary tells of it"
    assert "compaction_trigger" not in json.dumps(second.rounds)
    assert "SUMMARY" in json.dumps(third.rounds[0])
    assert third.tool_results(0, wire) == []


async def test_an_upstream_that_compacts_itself_reads_the_approved_call_before_the_trigger(
    local: Servers, ran: list[tuple[str, str]]
) -> None:
    state = b'{"type":"compaction","id":"cmp_1","encrypted_content":"theirs"}'
    frames = (
        b'data: {"type":"response.output_item.done","output_index":0,"item":' + state + b"}\n\n"
        b'data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[' + state + b"]}}\n\n"
    )
    async with gateway("responses", round_("responses", ADD), whole(frames), tools=mcp(servers=local)) as (
        engine, upstream,
    ):  # fmt: skip
        engine.config = replace(engine.config, compaction="native")
        first = await play(engine, upstream, tools=[ASK], input="Add.")
        follow = continued(first, answer(request_of(first)["id"]), {"type": "compaction_trigger"}, stateless=False)
        second = await play(engine, upstream, tools=[ASK], **follow)
    assert (second.output(), len(ran)) == (["mcp_call", "compaction"], 1)
    sent = [item["type"] for item in second.rounds[0]["input"]]
    assert sent == ["message", "function_call", "function_call_output", "compaction_trigger"]


async def test_a_request_to_compact_that_brings_an_approval_is_refused(
    local: Servers, ran: list[tuple[str, str]]
) -> None:
    async with gateway("chat", round_("chat", ADD), tools=mcp(servers=local)) as (engine, upstream):
        first = await play(engine, upstream, tools=[ASK], input="Add.")
        follow = continued(first, answer(request_of(first)["id"]), stateless=False)
        with pytest.raises(Failure, match="An approval cannot be given") as caught:
            await engine.compact({"model": "m", "tools": [ASK], **follow})
        assert len(upstream.requests) == 1
    assert (caught.value.status, caught.value.param, ran) == (400, "input", [])


@pytest.mark.parametrize("label", ["local", "theirs"])
async def test_an_upstream_that_asks_itself_gets_what_concerns_its_own_servers(local: Servers, label: str) -> None:
    theirs = {"type": "mcp", "server_label": "theirs", "server_url": "https://mcp.example.com/", **ASK}
    theirs["server_label"] = "theirs"
    items = [{**FORGED, "server_label": label}, answer("mcpr_x")]
    script = round_("responses", Say("Ok."))
    async with gateway("responses", script, tools=mcp(servers=local), custom_tools="native") as (engine, upstream):
        played = await play(engine, upstream, tools=[theirs, ASK], input=items)
    sent = [item["type"] for item in played.rounds[0]["input"]]
    if label == "theirs":
        assert sent == ["mcp_approval_request", "mcp_approval_response"]
    else:
        assert sent == ["function_call", "function_call_output"]
