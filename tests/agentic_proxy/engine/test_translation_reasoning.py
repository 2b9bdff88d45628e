"""Reasoning over two turns: through the client, over a restart, from memory, and never to another provider."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.config.model import Config, Model, Store
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.turn import TurnRequest
from support.engines import PATIENT, TOOL, RecordingSink, provider, run_turn
from support.providers.rules import PROVIDERS, THOUGHT, Rules
from support.providers.upstream import StrictUpstream
from support.turns import Call, Json, Raw, Say, Status, Turn
from support.upstream import Upstream
from translators.registry import CLIENTS

KEY = b"k" * 32
USER: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
INCLUDE = ["reasoning.encrypted_content"]
CALLS: tuple[Turn, ...] = ((Say("", reasoning=THOUGHT), Call("run", {})), Say("done", reasoning=THOUGHT))


@asynccontextmanager
async def engine_for(
    *upstreams: tuple[str, str, str, Upstream], key: bytes = KEY, models: tuple[Model, ...] | None = None
) -> AsyncIterator[Engine]:
    """An engine with one provider (name, type, wire) for each upstream."""
    providers = [
        replace(provider(name, upstream.url, wire), type=kind, models=models)
        for name, kind, wire, upstream in upstreams
    ]
    engine = await Engine.create(Config(providers=tuple(providers), timeouts=PATIENT, store=Store(url="memory:")))
    engine.key = key
    try:
        yield engine
    finally:
        await engine.close()


async def ask(engine: Engine, model: str, items: Sequence[Json], **more: Any) -> list[Json]:
    """The output of one streamed turn."""
    request = {"model": model, "input": items, "tools": [TOOL], "store": False, **more}
    outcome = await run_turn(engine, request, RecordingSink())
    assert outcome.response is not None, outcome.failure
    assert outcome.response["status"] == "completed", outcome.response["error"]
    output: list[Json] = outcome.response["output"]
    return output


def answered(output: list[Json]) -> list[Json]:
    """The client's next input: the items with the results of their calls."""
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
        for item in output
        if item["type"] == "function_call"
    ]
    return [USER, *output, *results]


def bare(items: list[Json]) -> list[Json]:
    """As a client that keeps of its reasoning only what is encrypted."""
    return [{**item, "summary": []} if item["type"] == "reasoning" else item for item in items]


@pytest.mark.parametrize("name", ["kimi", "deepseek"])
async def test_it_survives_a_restart_without_a_store(name: str) -> None:
    rules = PROVIDERS[name]
    async with StrictUpstream(rules, *CALLS) as upstream:
        async with engine_for((name, name, "chat", upstream)) as engine:
            output = await ask(engine, f"{name}/{rules.model}", [USER], include=INCLUDE)
        async with engine_for((name, name, "chat", upstream)) as engine:
            await ask(engine, f"{name}/{rules.model}", bare(answered(output)), include=INCLUDE)
        assert upstream.refused == []


@pytest.mark.parametrize("keeps", ["nothing", "the summary"])
async def test_a_client_that_asks_for_nothing_gets_nothing_and_is_helped_by_memory(keeps: str) -> None:
    rules = PROVIDERS["kimi"]
    async with StrictUpstream(rules, *CALLS) as upstream, engine_for(("kimi", "kimi", "chat", upstream)) as engine:
        output = await ask(engine, f"kimi/{rules.model}", [USER])
        assert [item.get("encrypted_content") for item in output if item["type"] == "reasoning"] == [None]
        history = [item for item in answered(output) if keeps != "nothing" or item["type"] != "reasoning"]
        await ask(engine, f"kimi/{rules.model}", history)
        assert upstream.refused == []
        # In another conversation the same call id is another call.
        other = {**USER, "content": [{"type": "input_text", "text": "something else"}]}
        foreign = [item for item in [other, *answered(output)[1:]] if item["type"] != "reasoning"]
        outcome = await run_turn(engine, {"model": f"kimi/{rules.model}", "input": foreign, "tools": [TOOL]}, None)
        assert outcome.status == 400
        assert "is not what was generated" in upstream.refused[0]


async def test_a_blob_names_its_provider_and_goes_to_no_other() -> None:
    rules = Rules("responses", "m", PROVIDERS["xai"].checks[-1:])
    async with StrictUpstream(rules, *CALLS) as xai, StrictUpstream(PROVIDERS["kimi"], *CALLS) as kimi:
        setup = (("xai", "xai", "responses", xai), ("second", "xai", "responses", xai), ("kimi", "kimi", "chat", kimi))
        async with engine_for(*setup) as engine:
            output = await ask(engine, "xai/grok-4.7", [USER], include=INCLUDE)
            (thought,) = [item for item in output if item["type"] == "reasoning"]
            assert thought["encrypted_content"].startswith("apx1.")
            history = answered(output)
            await ask(engine, "xai/grok-4.7", history, include=INCLUDE)
            assert [
                item["encrypted_content"] for item in xai.posts[-1].body["input"] if item["type"] == "reasoning"
            ] == ["scripted-reasoning"]
            await ask(engine, "second/grok-4.7", history, include=INCLUDE)
            assert [item["type"] for item in xai.posts[-1].body["input"]] == [
                *("message", "function_call", "function_call_output"),
            ]
            await ask(engine, "kimi/kimi-k3", history, include=INCLUDE)
            assert "apx1." not in str(kimi.posts[-1].body)
            assert kimi.posts[-1].body["messages"][1]["reasoning_content"] == THOUGHT  # its summary: readable words


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("sealed", [True, False])
async def test_openai_is_asked_for_the_reasoning_of_what_is_kept_here_and_never_sent_an_item_that_it_does_not_know(
    store: bool, sealed: bool
) -> None:
    """It keeps nothing itself, and then an item without content is a 404: "Item with id 'rs_..' not found. Items are
    not persisted when `store` is set to false" (openai/openai-agents-python#919, vercel/ai#7543)."""
    first: Turn = (Say("", reasoning=THOUGHT), Call("run", {})) if sealed else said_openly("call_1")
    async with (
        Upstream(first, Say("done")) as upstream,
        engine_for(("up", "openai", "responses", upstream)) as engine,
    ):
        request = {"model": "up/m", "tools": [TOOL], "store": store}
        begun = await run_turn(engine, {**request, "input": [USER]}, RecordingSink())
        assert begun.response is not None
        history = answered(begun.response["output"])
        more = {"input": history[-1:], "previous_response_id": begun.response["id"]} if store else {"input": history}
        continued = await run_turn(engine, {**request, **more}, RecordingSink())
        assert continued.code is None
    assert [post.body.get("include") for post in upstream.posts] == [INCLUDE if store else None] * 2
    items = {item["type"]: item for item in upstream.posts[1].body["input"]}
    assert items.keys() == {"message", "function_call", "function_call_output", *(["reasoning"] if sealed else [])}
    if sealed:
        assert items["reasoning"]["encrypted_content"] == "scripted-reasoning"
    # The id of a call whose reasoning is missing would be missed with it.
    assert ("id" in items["function_call"]) is sealed


async def signed(engine: Engine, model: str, *before: Json) -> tuple[Json, ...]:
    """The messages of a Messages client after one more turn of thinking, which it replays as they came."""
    asked: Json = {"role": "user", "content": "go"}
    thinking = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
    original = {"model": model, "stream": True, "max_tokens": 9000, **thinking, "messages": [*before, asked]}
    hub, notes = CLIENTS["messages"].to_hub(original)
    sink = RecordingSink()
    await engine.run(TurnRequest("messages", hub, True, original=original, notes=tuple(notes)), sink)
    (signature,) = re.findall(rb'"signature_delta","signature":"([^"]+)"', sink.data.replace(b": ", b":"))
    thought = {"type": "thinking", "thinking": THOUGHT, "signature": signature.decode()}
    return (*before, asked, {"role": "assistant", "content": [thought, {"type": "text", "text": "done"}]})


async def test_a_messages_client_brings_each_provider_its_own_signatures_and_nobody_elses() -> None:
    """As Anthropic refuses what another signed ("Invalid `signature` in `thinking` block"), and OpenAI what it did not
    seal ("The encrypted content could not be verified")."""
    said = Say("done", reasoning=THOUGHT)
    async with (
        Upstream(said) as openai,
        Upstream(said) as claude,
        engine_for(("openai", "openai", "responses", openai), ("claude", "anthropic", "messages", claude)) as engine,
    ):
        history: tuple[Json, ...] = ()
        for model in ("openai/gpt-5.5", "claude/claude-opus-4-8") * 2:
            history = await signed(engine, model, *history)
    sealed = [item.get("encrypted_content") for item in openai.posts[-1].body["input"] if item["type"] == "reasoning"]
    assert sealed == ["scripted-reasoning"]
    answers = [each for each in claude.posts[-1].body["messages"] if each["role"] == "assistant"]
    blocks = [block for each in answers for block in each["content"]]
    assert [block["signature"] for block in blocks if block["type"] == "thinking"] == ["scripted-signature"]
    assert [block["text"] for block in blocks if block["type"] == "text"] == ["done"] * 3


async def test_an_envelope_of_another_machine_is_left_out() -> None:
    async with StrictUpstream(PROVIDERS["deepseek"], *CALLS) as upstream:
        setup = ("ds", "deepseek", "chat", upstream)
        async with engine_for(setup, key=b"x" * 32) as engine:
            output = await ask(engine, "ds/deepseek-v4-pro", [USER], include=INCLUDE)
        async with engine_for(setup) as engine:
            request = {"model": "ds/deepseek-v4-pro", "input": bare(answered(output)), "tools": [TOOL]}
            assert (await run_turn(engine, request, None)).status == 400
            assert upstream.posts[-1].body["messages"][1]["reasoning_content"] in ("", " ")


def said_openly(*calls: str) -> Raw:
    """A Responses answer whose reasoning is words and no blob, with these calls behind it."""
    part = {"type": "reasoning_text", "text": THOUGHT}
    output: list[Json] = [{"type": "reasoning", "id": "rs_1", "summary": [], "content": [part]}]
    output += [
        {"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": "run", "arguments": "{}"}
        for call in calls
    ]
    done = [
        {"type": f"response.output_item.{when}", "output_index": n, "item": item}
        for n, item in enumerate(output)
        for when in ("added", "done")
    ]
    events = [*done, {"type": "response.completed", "response": {"status": "completed", "output": output}}]
    return Raw(b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events))


@pytest.mark.parametrize(
    ("kind", "refuses", "posts"),
    [("deepseek", False, 2), ("openai-compatible", True, 3), ("openai-compatible", False, 2)],
)
async def test_words_that_a_client_keeps_only_sealed_go_back_to_a_responses_upstream(
    kind: str, refuses: bool, posts: int
) -> None:
    told = "The reasoning_text in the thinking mode must be passed back to the API"
    second: tuple[Turn, ...] = (Status(400, {"error": {"message": told, "code": "invalid_request_error"}}),) * refuses
    lost: Json = {"type": "function_call", "call_id": "call_0", "name": "run", "arguments": "{}"}
    async with (
        Upstream(said_openly("call_1"), *second, Say("done")) as upstream,
        engine_for(("ds", kind, "responses", upstream)) as engine,
    ):
        output = await ask(engine, "ds/m", [USER], include=INCLUDE)
        kept = [{**item, "content": None} if item["type"] == "reasoning" else item for item in answered(output)]
        before = [USER, lost, {"type": "function_call_output", "call_id": "call_0", "output": "ok"}]
        await ask(engine, "ds/m", [*before, *kept], include=INCLUDE)
        assert len(upstream.posts) == posts
    thoughts = [item["content"][0]["text"] for item in upstream.posts[-1].body["input"] if item["type"] == "reasoning"]
    assert thoughts == ([" ", THOUGHT] if refuses or kind == "deepseek" else [THOUGHT])


@pytest.mark.parametrize(
    ("kind", "model", "seen"),
    [
        ("openai-compatible", Model("m"), True),
        ("openai-compatible", Model("m", images=False), False),
        ("deepseek", Model("m"), False),
        ("deepseek", Model("m", images=True), True),
        ("deepseek", Model("m", images=True, dialect={"images": False}), False),
    ],
)
async def test_the_configuration_says_what_a_model_sees(kind: str, model: Model, seen: bool) -> None:
    picture = {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}
    async with Upstream(Say("hi")) as upstream, engine_for(("up", kind, "chat", upstream), models=(model,)) as engine:
        await ask(engine, "up/m", [picture])
    assert ("data:image" in str(upstream.posts[0].body)) is seen


async def test_a_conversation_in_chat_is_named_by_a_header_where_the_provider_wants_one() -> None:
    async with Upstream(Say("hi")) as upstream, engine_for(("xai", "xai", "chat", upstream)) as engine:
        await ask(engine, "xai/grok-4.7", [USER], prompt_cache_key="conversation-1")
        await ask(engine, "xai/grok-4.7", [USER], prompt_cache_key="bad\r\nheader: x")
        await ask(engine, "xai/grok-4.7", [USER])
    sent = [post.headers.get("x-grok-conv-id") for post in upstream.posts]
    assert sent == ["conversation-1", None, None]
    assert ["prompt_cache_key" in post.body for post in upstream.posts] == [False] * 3
