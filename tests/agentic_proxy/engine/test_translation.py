"""A turn's request as one upstream wants it: tools as functions, hints, and how its calls will be treated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.config import schema as schema_module
from agentic_proxy.config.model import Model, PatchMode, Tools
from agentic_proxy.engine.translation import translate
from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.models import Target
from support.engines import provider, running_engine
from support.patch_turns import PATCH, request
from translators.apply_patch.repair import RULES
from translators.failure import Failure
from translators.tools.calls import Bridge

UP = provider("up", "http://127.0.0.1:9", "responses")
FAILED = "apply_patch verification failed: invalid hunk at line 2, `x` is not a valid hunk header"


def tried(number: int, output: object = FAILED) -> list[dict[str, Any]]:
    call = {"type": "custom_tool_call", "call_id": f"c{number}", "name": "apply_patch", "input": PATCH}
    return [call, {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": output}]


def outputs(items: list[dict[str, Any]]) -> list[str]:
    return [
        item.get("output") or item["content"]
        for item in items
        if item.get("type") == "function_call_output" or item.get("role") == "tool"
    ]


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_the_second_identical_failure_of_a_patch_gets_a_hint_and_the_history_keeps_its_prefix(wire: str) -> None:
    up = provider("up", "http://127.0.0.1:9", wire)
    async with running_engine(up) as engine:
        target = Target(up, None, "m")
        executor: Executor = engine.executors["up"]
        sent: list[list[dict[str, Any]]] = []
        history: list[dict[str, Any]] = []
        for number in range(3):
            history += tried(number)
            made = translate(engine, request(input=[*history]), target, executor, shown=True)
            up_body = json.loads(made.body)
            sent.append(up_body.get("input") or up_body["messages"])
        assert history == [item for number in range(3) for item in tried(number)], "the client's items stay"
    first, second, third = (outputs(items) for items in sent)
    assert first == [FAILED]
    assert second[0] == FAILED
    assert second[1].startswith(FAILED + "\n\nThis is the same failure as before.")
    assert third[:2] == second


async def test_a_host_that_knows_custom_tools_gets_them_as_they_are() -> None:
    native = replace(UP, custom_tools="native")
    async with running_engine(native) as engine:
        made = translate(engine, request(), Target(native, None, "m"), engine.executors["up"], shown=True)
    assert made.tools is None
    assert [tool["type"] for tool in json.loads(made.body)["tools"]] == ["custom"]


@pytest.mark.parametrize(("wire", "refused"), [("chat", True), ("messages", True), ("responses", False)])
async def test_a_prompt_that_only_openai_has_is_never_left_out_in_silence(wire: str, refused: bool) -> None:
    up, asked = provider("up", "http://127.0.0.1:9", wire), request(prompt={"id": "pmpt_1"}, input=[])
    async with running_engine(up) as engine:
        target, executor = Target(up, None, "m"), engine.executors["up"]
        if refused:
            with pytest.raises(Failure, match="stored at OpenAI") as caught:
                translate(engine, asked, target, executor, shown=True)
            assert (caught.value.code, caught.value.param) == ("invalid_request_error", "prompt")
        else:
            assert json.loads(translate(engine, asked, target, executor, shown=True).body)["prompt"]["id"] == "pmpt_1"


TASK: dict[str, Any] = {
    "type": "agent_message", "id": "amsg_1", "author": "/root", "recipient": "/root/sums",
    "content": [{"type": "encrypted_content", "encrypted_content": "Add 2 and 3."}],
}  # fmt: skip


@pytest.mark.requirement("NW1")
@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
async def test_an_agents_task_reaches_every_model_in_words(wire: str) -> None:
    up, told = provider("up", "http://127.0.0.1:9", wire), replace(UP, custom_tools="native")
    async with running_engine(up) as engine:
        made = translate(engine, request(input=[TASK]), Target(up, None, "m"), engine.executors["up"], shown=True)
    sent = json.loads(made.body)
    (message,) = sent.get("messages") or sent["input"]
    assert message["role"] == "user"
    assert "Add 2 and 3." in json.dumps(message["content"])
    assert "encrypted_content" not in json.dumps(message)
    assert "agent_message_became_user" in made.rules
    async with running_engine(told) as engine:
        made = translate(engine, request(input=[TASK]), Target(told, None, "m"), engine.executors["up"], shown=True)
    clear = {"type": "input_text", "text": "Add 2 and 3."}
    assert json.loads(made.body)["input"] == [{**TASK, "content": [clear]}], "OpenAI knows the item"


async def test_other_hosts_get_functions_and_the_map_that_restores_them() -> None:
    async with running_engine(UP) as engine:
        tools = [*request()["tools"], {"type": "web_search"}]
        made = translate(engine, request(tools=tools), Target(UP, None, "m"), engine.executors["up"], shown=True)
    assert made.tools is not None and made.tools.has_patch
    assert [(tool["type"], tool["name"]) for tool in json.loads(made.body)["tools"]] == [("function", "apply_patch")]
    assert "web_search_left_out" in made.rules


@pytest.mark.requirement("NW4")
@pytest.mark.parametrize(
    ("wire", "field"), [("chat", "reasoning_effort"), ("responses", "reasoning"), ("messages", "output_config")]
)
async def test_a_change_of_the_effort_holds_with_every_model_and_is_openais_own_item(wire: str, field: str) -> None:
    up, told = provider("up", "http://127.0.0.1:9", wire), replace(UP, custom_tools="native")
    said = {"type": "message", "role": "user", "content": "hi"}
    change = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    asked = request(input=[said, change, said], reasoning={"effort": "high"})
    async with running_engine(up) as engine:
        made = translate(engine, asked, Target(up, None, "claude-opus-5"), engine.executors["up"], shown=True)
    sent = json.loads(made.body)
    assert sent[field] in ("low", {"effort": "low"})
    assert "configuration_update" not in json.dumps(sent)
    assert "configuration_update_applied" in made.rules
    async with running_engine(told) as engine:
        made = translate(engine, asked, Target(told, None, "m"), engine.executors["up"], shown=True)
    sent = json.loads(made.body)
    assert (sent["input"], sent["reasoning"]) == ([said, change, said], {"effort": "high"})


@pytest.mark.parametrize(
    ("tools", "shown"),
    [
        ([{"type": "x_search"}], 0),
        ([], 1),
        ([{"type": "x_search"}, {"type": "custom", "name": "x_thread_fetch"}], 1),
    ],
    ids=["its_own", "without_a_tool_of_its_own", "a_tool_of_the_client"],
)
async def test_what_xai_ran_itself_is_no_call_of_the_client(tools: list[dict[str, Any]], shown: int) -> None:
    xai = provider("up", "http://127.0.0.1:9", "responses", type="xai")
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "xs_1", "name": "x_thread_fetch", "input": ""}
    added = {"type": "response.output_item.added", "output_index": 0, "item": call}
    async with running_engine(xai) as engine:
        asked = request(input="look", tools=tools)
        made = translate(engine, asked, Target(xai, None, "grok-4.7"), engine.executors["up"], shown=True)
    decoder = made.format.decoder(suffix="s", first_index=0)
    assert len(decoder.feed(b"data: " + json.dumps(added).encode() + b"\n\n")) == shown


LIVE: dict[str, tuple[PatchMode, PatchMode | None, bool, bool, Bridge]] = {
    "as it comes": ("repair", None, True, True, Bridge("repair", True, {"fence": False})),
    "after a call that was not right": ("repair", None, True, False, Bridge("repair", False, {"fence": False})),
    "for a client that waits": ("repair", None, False, True, Bridge("repair", False, {"fence": False})),
    "strict shows whatever was before": ("strict", None, True, False, Bridge("strict", True, {"fence": False})),
    "the model's own mode": ("repair", "pass", False, False, Bridge("pass", True, {"fence": False})),
}


@pytest.mark.parametrize(("mode", "own", "shown", "clean", "expected"), LIVE.values(), ids=LIVE)
async def test_how_calls_are_treated_follows_from_configuration_client_and_experience(
    mode: PatchMode, own: PatchMode | None, shown: bool, clean: bool, expected: Bridge
) -> None:
    async with running_engine(UP) as engine:
        engine.config = replace(engine.config, tools=Tools(mode, {"fence": False}))
        engine.previews.note("up", "m", clean=clean)
        target = Target(UP, Model("m", patch_mode=own), "m")
        assert translate(engine, request(), target, engine.executors["up"], shown=shown).bridge == expected


async def test_what_cannot_be_written_as_json_is_the_clients_fault() -> None:
    async with running_engine(UP) as engine:
        with pytest.raises(Failure) as caught:
            translate(engine, request(input="\ud800"), Target(UP, None, "m"), engine.executors["up"], shown=True)
    assert (caught.value.code, caught.value.status) == ("invalid_request_error", 400)


def test_every_rule_of_the_repair_can_be_switched_in_the_configuration_and_no_other() -> None:
    schema = json.loads(Path(schema_module.__file__).with_name("schema.json").read_text())
    switches = schema["properties"]["tools"]["properties"]["apply_patch_rules"]
    assert set(switches["properties"]) == {rule.id for rule in RULES}
    assert switches["additionalProperties"] is False
