"""What a Messages and a Chat client may say and hear, over the whole way and against each kind of upstream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.routing.models import Target
from support.engines import RecordingSink, provider, running_engine
from support.messages_stream import messages_frames
from support.raw_upstream import LAST, OK, RawUpstream, answer, chunk
from support.readers import messages_blocks, read_chat, read_messages
from support.turns import Call, Incomplete, Say
from support.wires import chat_frames, responses_frames
from translators.registry import CLIENTS

Json = dict[str, Any]

SPEAK: dict[str, Any] = {"chat": chat_frames, "messages": messages_frames, "responses": responses_frames}
ASKED: Json = {"model": "m", "stream_options": {"include_usage": True}}
WIRES = pytest.mark.parametrize("wire", SPEAK)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PICTURE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
LINKED: Json = {"type": "image", "source": {"type": "url", "url": "https://x.example/y.png"}}
PAPER: Json = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}}
TEXT: Json = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A PAPER"}}
CACHED: Json = {"cache_control": {"type": "ephemeral"}}
TOOL: Json = {"name": "f", "description": "F", "input_schema": {"type": "object", "properties": {}}, **CACHED}
MESSAGES: Json = {
    "system": [{"type": "text", "text": "Be brief.", **CACHED}],
    "max_tokens": 2000,
    "metadata": {"user_id": "somebody@example.com"},
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}, PICTURE, LINKED, TEXT, PAPER]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "one"}, PICTURE],
                },
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "bad", "is_error": True},
                {"type": "text", "text": "go on", **CACHED},
            ],
        },
        {"role": "system", "content": "From now on in French."},
        {"role": "user", "content": "weiter"},
    ],
}


async def played(
    client: str, wire: str, original: Json, items: Sequence[Any] = (Say("hi"),), fault: Any = None, edit: Any = None
) -> tuple[Json, bytes, set[str]]:
    """A streaming turn over the hub: the body that went up, what the client was sent, the rules of what it lost."""
    original = {"model": "m", "stream": True, **original}
    body, notes = CLIENTS[client].to_hub(original)
    turn = TurnRequest(client, body, True, original=original, notes=tuple(notes))
    sink = RecordingSink()
    frames = [(edit or (lambda frame: frame))(frame) for frame in SPEAK[wire](ASKED, items, fault)]
    with capture_logs() as logs:
        async with (
            RawUpstream((OK, *(chunk(frame) for frame in frames), LAST)) as upstream,
            running_engine(provider("up", upstream.url, wire)) as engine,
        ):
            # With something learned two ends of one format meet at the hub, too.
            engine.lessons.learn(Target(engine.config.providers[0], None, "m"), ["drop:logit_bias"])
            await engine.run(turn, sink)
    sent = json.loads(upstream.requests[0].body)
    return sent, sink.data, {each["rule"] for each in logs if each["event"] == "left_out"}


def flat(value: Any) -> str:
    return json.dumps(value)


# ------------------------------------------------------------------------------------------------- What goes up


@WIRES
async def test_everything_that_a_messages_client_says_reaches_the_model(wire: str) -> None:
    sent, _, rules = await played("messages", wire, MESSAGES)
    said = sent["input"] if wire == "responses" else sent["messages"]
    for words in (
        "look",
        "A PAPER",
        "JVBERi0x",
        "https://x.example/y.png",
        "go on",
        "From now on in French.",
        "weiter",
    ):
        assert words in flat(said), words
    assert flat(said).count(PNG) == 2
    assert "Be brief." in flat(sent)
    assert "somebody@example.com" not in flat(sent)
    assert {"metadata_stays_here", "tool_error_became_text"} <= rules


@WIRES
async def test_parallel_results_stand_behind_their_calls_in_order_and_an_error_is_told(wire: str) -> None:
    sent, _, _ = await played("messages", wire, MESSAGES)
    match wire:
        case "chat":
            results = [(each["tool_call_id"], each["content"]) for each in sent["messages"] if each["role"] == "tool"]
            calls = [call["id"] for each in sent["messages"] for call in each.get("tool_calls") or ()]
            place = [each["role"] for each in sent["messages"]].index("assistant")
            assert [each["role"] for each in sent["messages"]][place + 1 : place + 4] == ["tool", "tool", "user"]
        case "responses":
            outputs = [each for each in sent["input"] if each["type"] == "function_call_output"]
            results = [(each["call_id"], flat(each["output"])) for each in outputs]
            calls = [each["call_id"] for each in sent["input"] if each["type"] == "function_call"]
        case _:
            blocks = [block for each in sent["messages"] for block in each["content"]]
            results = [(b["tool_use_id"], flat(b["content"])) for b in blocks if b["type"] == "tool_result"]
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert calls == [call_id for call_id, _ in results] == ["toolu_1", "toolu_2"]
    assert "one" in results[0][1] and "Error: bad" in results[1][1]


@pytest.mark.parametrize(
    ("fields", "effort"),
    [
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}, "low"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2048}}, "low"),
        ({"thinking": {"type": "enabled", "budget_tokens": 31_999}}, "high"),
        ({"thinking": {"type": "disabled"}}, "none"),
        ({"output_config": {"effort": "high"}}, "high"),
        ({}, None),
    ],
)
async def test_thinking_is_an_effort_for_others(fields: Json, effort: str | None) -> None:
    asked = {**MESSAGES, **fields}
    chat, _, _ = await played("messages", "chat", asked)
    responses, _, _ = await played("messages", "responses", asked)
    assert (chat.get("reasoning_effort"), (responses.get("reasoning") or {}).get("effort")) == (effort, effort)


@pytest.mark.parametrize(
    ("effort", "model", "thinking", "config"),
    [
        ("low", "claude-opus-4-8", {"type": "adaptive"}, {"effort": "low"}),
        ("none", "claude-opus-4-8", {"type": "disabled"}, None),
        ("low", "claude-sonnet-4-5", {"type": "enabled", "budget_tokens": 4096}, None),
        (None, "claude-sonnet-4-5", None, None),
    ],
)
async def test_an_effort_is_thinking_for_a_messages_upstream(
    effort: str | None, model: str, thinking: Any, config: Any
) -> None:
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    hub, notes = CLIENTS["chat"].to_hub({**body, **({"reasoning_effort": effort} if effort else {})})
    async with (
        RawUpstream((OK, *(chunk(frame) for frame in messages_frames({}, [Say("hi")], None)), LAST)) as upstream,
        running_engine(provider("up", upstream.url, "messages", models=None)) as engine,
    ):
        hub["model"] = f"up/{model}"
        await engine.run(TurnRequest("chat", hub, True, original=body, notes=tuple(notes)), RecordingSink())
    sent = json.loads(upstream.requests[0].body)
    assert (sent.get("thinking"), sent.get("output_config")) == (thinking, config)


@pytest.mark.parametrize("client", ["chat", "messages"])
async def test_a_messages_upstream_may_cache_tools_system_text_and_all_that_was_said(client: str) -> None:
    system = {"role": "system", "content": "Be brief."}
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    chat = {"messages": [system, {"role": "user", "content": "hi"}], "tools": tools}
    sent, _, _ = await played(client, "messages", chat if client == "chat" else MESSAGES)
    assert [sent["cache_control"], sent["tools"][-1]["cache_control"], sent["system"][-1]["cache_control"]] == [
        {"type": "ephemeral"}
    ] * 3
    assert flat(sent).count("cache_control") == 3, "four are allowed"


@WIRES
async def test_everything_that_a_chat_client_says_reaches_the_model(wire: str) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    sent, _, rules = await played(
        "chat",
        wire,
        {
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
                {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "one"}]},
            ],
            "tools": [
                {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
                {"type": "custom", "custom": {"name": "c", "description": "C"}},
            ],
            "logprobs": True,
            "max_completion_tokens": 300,
        },
    )
    for words in ("Be brief.", "look", PNG, "call_1", "one"):
        assert words in flat(sent), words
    names = [(tool.get("function") or tool)["name"] for tool in sent["tools"]]
    assert names == ["f", "c"]
    assert 300 in (sent.get("max_tokens"), sent.get("max_output_tokens"))
    assert "logprobs_left_out" in rules and "logprobs" not in sent


@pytest.mark.parametrize("learned", [[], ["drop:logit_bias"]], ids=["as it came", "over the hub"])
@pytest.mark.parametrize(("client", "wire"), [("messages", "messages"), ("messages", "chat"), ("chat", "chat")])
async def test_betas_go_from_a_messages_client_to_a_messages_upstream_only(
    client: str, wire: str, learned: list[str]
) -> None:
    original: Json = {"model": "m", "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    body, notes = CLIENTS[client].to_hub(original)
    turn = TurnRequest(client, body, True, original=original, notes=tuple(notes))
    turn.betas = ("context-1m-2025-08-07", "interleaved-thinking-2025-05-14")
    async with (
        RawUpstream((OK, *(chunk(frame) for frame in SPEAK[wire](ASKED, [Say("hi")], None)), LAST)) as upstream,
        running_engine(provider("up", upstream.url, wire)) as engine,
    ):
        engine.lessons.learn(Target(engine.config.providers[0], None, "m"), learned)
        await engine.run(turn, RecordingSink())
    expected = [",".join(turn.betas)] if wire == "messages" else []
    assert upstream.requests[0].header("anthropic-beta") == expected


THOUGHTS: list[Json] = [
    {"type": "thinking", "thinking": "First.", "signature": "signed-by-them"},
    {"type": "redacted_thinking", "data": "locked-by-them"},
]
LOOP: Json = {
    "max_tokens": 4000,
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [*THOUGHTS, {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]},
    ],
}


async def test_thoughts_of_a_messages_upstream_come_back_to_it_as_it_signed_them_and_go_to_nobody_else() -> None:
    sent, _, rules = await played("messages", "messages", LOOP)
    assert sent["messages"][1]["content"][:2] == THOUGHTS
    assert sent["thinking"]["type"] == "enabled"
    assert "foreign_reasoning_left_out" not in rules
    for wire in ("chat", "responses"):
        sent, _, _ = await played("messages", wire, LOOP)
        assert "by-them" not in flat(sent)


async def test_thoughts_that_an_upstream_did_not_sign_are_left_out_once_it_says_so() -> None:
    refusal = answer(
        400,
        b'{"type":"error","error":{"type":"invalid_request_error","message":'
        b'"messages.1.content.0: Invalid `signature` in `thinking` block"}}',
    )
    original = {"model": "m", "stream": True, **LOOP}
    body, notes = CLIENTS["messages"].to_hub(original)
    sink = RecordingSink()
    frames = (chunk(frame) for frame in messages_frames({}, [Say("hi")], None))
    async with (
        RawUpstream((refusal,), (OK, *frames, LAST)) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        await engine.run(TurnRequest("messages", body, True, original=original, notes=tuple(notes)), sink)
        assert engine.lessons.listing(engine.config.providers) == {}, "it says nothing of the model"
    first, second = (json.loads(request.body) for request in upstream.requests)
    assert ("signed-by-them" in flat(first), "by-them" in flat(second)) == (True, False)
    assert read_messages(sink.data).text == "hi"


# ------------------------------------------------------------------------------------------------- What comes back


@WIRES
async def test_a_messages_client_is_shown_thought_text_and_calls_as_blocks(wire: str) -> None:
    items = (Say("So:", reasoning="Think."), Call("f", {"a": 1}))
    asked = {**MESSAGES, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    _, data, _ = await played("messages", wire, asked, items)
    read = read_messages(data)
    assert (read.thought, read.text, read.ending) == ("Think.", "So:", "tool_use")
    assert [(call["name"], json.loads(call["arguments"])) for call in read.calls] == [("f", {"a": 1})]
    assert [block["type"] for block in messages_blocks(data)] == ["thinking", "text", "tool_use"]


@WIRES
async def test_a_chat_client_is_shown_thought_text_and_calls_by_index(wire: str) -> None:
    items = (Say("So:", reasoning="Think."), Call("f", {"a": 1}), Call("f", {}))
    function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    asked = {"messages": [{"role": "user", "content": "hi"}], "tools": [function]}
    _, data, _ = await played("chat", wire, asked, items)
    read = read_chat(data)
    assert (read.thought, read.text, read.ending, read.usage) == ("Think.", "So:", "tool_calls", None)
    assert [json.loads(call["arguments"]) for call in read.calls] == [{"a": 1}, {}]


@WIRES
async def test_a_client_of_the_deprecated_functions_gets_its_function_call(wire: str) -> None:
    functions = [{"name": "f", "parameters": {"type": "object"}}]
    asked = {"messages": [{"role": "user", "content": "hi"}], "functions": functions}
    _, data, _ = await played("chat", wire, asked, (Call("f", {"a": 1}),))
    chunks = [json.loads(line[6:]) for line in data.split(b"\n\n") if line.startswith(b"data: {")]
    deltas = [each["choices"][0]["delta"].get("function_call") or {} for each in chunks]
    assert "".join(delta.get("arguments", "") for delta in deltas).replace(" ", "") == '{"a":1}'
    assert chunks[-1]["choices"][0]["finish_reason"] == "function_call"


@WIRES
@pytest.mark.parametrize(
    ("items", "fault", "messages", "chat"),
    [
        ((Say("hi"),), None, "end_turn", "stop"),
        ((Say("hi"),), Incomplete("max_output_tokens"), "max_tokens", "length"),
        ((Say("hi"),), Incomplete("content_filter"), "refusal", "content_filter"),
    ],
)
async def test_why_the_model_stopped_has_each_clients_own_word(
    items: Any, fault: Any, messages: str, chat: str, wire: str
) -> None:
    hello = {"messages": [{"role": "user", "content": "hi"}]}
    _, data, _ = await played("messages", wire, {**hello, "max_tokens": 99}, items, fault)
    assert read_messages(data).ending == messages
    _, data, _ = await played("chat", wire, hello, items, fault)
    assert read_chat(data).ending == chat


CACHE: dict[str, tuple[bytes, bytes]] = {
    "chat": (b'"prompt_tokens": 100', b'"prompt_tokens_details": {"cached_tokens": 80}, "prompt_tokens": 100'),
    "responses": (b'"cached_tokens": 0', b'"cached_tokens": 80'),
    "messages": (b'"input_tokens":100', b'"input_tokens":20,"cache_read_input_tokens":80'),
}


@pytest.mark.parametrize("wire", CACHE)
async def test_what_a_cache_saved_is_counted_once_on_every_way(wire: str) -> None:
    plain, cached = (text.replace(b" ", b"") for text in CACHE[wire])
    found: list[bool] = []

    def edit(frame: bytes) -> bytes:
        thin = frame.replace(b'": ', b'":').replace(b", ", b",")
        found.append(plain in thin)
        return thin.replace(plain, cached)

    hello = {"messages": [{"role": "user", "content": "hi"}]}
    _, data, _ = await played("messages", wire, {**hello, "max_tokens": 99}, edit=edit)
    assert any(found), "the upstream's usage has another form"
    usage = read_messages(data).usage or {}
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (20, 80, 10)
    asked = {**hello, "stream_options": {"include_usage": True}}
    _, data, _ = await played("chat", wire, asked, edit=edit)
    told = read_chat(data).usage or {}
    assert (told["prompt_tokens"], told["prompt_tokens_details"]["cached_tokens"], told["total_tokens"]) == (
        100,
        80,
        110,
    )
