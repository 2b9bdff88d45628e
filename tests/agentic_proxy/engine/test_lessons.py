"""Learning from refusals: asked once more without the thing, remembered only if that worked, undone when wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentic_proxy.config.model import Config, Store
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.lessons import REMEMBERED_SECONDS, Lessons, Trial
from agentic_proxy.engine.outages import credential_id
from agentic_proxy.engine.turn import Turn, TurnRequest
from agentic_proxy.routing.models import Target
from agentic_proxy.store.state_file import StateFile
from support.engines import PATIENT, TOOL, Outcome, RecordingSink, body, eventually, provider, run_turn
from support.providers.checks import Check, Json, choices, efforts, refuses
from support.providers.rules import PROVIDERS, Rules
from support.providers.upstream import StrictUpstream
from support.turns import Call, Say, Status
from support.turns import Turn as Scripted
from translators.failure import Failure
from translators.registry import CLIENTS

NO_STOP = refuses("Unsupported parameter: '{0}'", "stop")
NEWER = refuses("Unsupported parameter: '{0}'. Use 'max_completion_tokens' instead.", "max_tokens")
OLDER = refuses("Unsupported parameter: '{0}'. Use 'max_tokens' instead.", "max_completion_tokens")


UP = provider("up", "http://127.0.0.1:9", "chat")
M, N = Target(UP, None, "m"), Target(UP, None, "n")


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def learning(
    checks: tuple[Check, ...], *turns: Scripted, file: Path | None = None, clock: Clock | None = None, **changes: Any
) -> AsyncIterator[tuple[Engine, StrictUpstream]]:
    """An engine in front of an upstream with these rules; what it learns goes into ``file``."""
    wire = changes.pop("wire", "chat")
    async with StrictUpstream(Rules(wire, "m", checks), *(turns or (Say("hi"),))) as upstream:
        up = replace(provider("up", upstream.url, wire), **changes)
        engine = await Engine.create(Config(providers=(up,), timeouts=PATIENT, store=Store(url="memory:")))
        engine.lessons = Lessons(StateFile(file) if file else None, clock or Clock())
        try:
            yield engine, upstream
        finally:
            await engine.lessons.close()
            await engine.close()


def model(engine: Engine) -> Target:
    return Target(engine.config.providers[0], None, "m")


async def ask(engine: Engine, **changes: Any) -> Outcome:
    return await run_turn(engine, body(**changes), RecordingSink())


def sent(upstream: StrictUpstream, field: str) -> list[Any]:
    return [post.body.get(field) for post in upstream.posts]


async def test_a_refused_field_is_left_out_at_once_and_from_then_on() -> None:
    async with learning((NO_STOP,)) as (engine, upstream):
        first, second = await ask(engine, stop=["x"]), await ask(engine, stop=["x"])
        assert (first.code, second.code) == (None, None)
        assert sent(upstream, "stop") == [["x"], None, None]
        assert engine.lessons.listing(engine.config.providers) == {"up/m": ("drop:stop",)}
        assert [record.code for record in engine.usage.records] == ["upstream_rejected", None, None]


async def test_a_field_becomes_its_twin_and_back_again() -> None:
    async with learning((NEWER,)) as (engine, upstream):
        await ask(engine, max_output_tokens=64)
        assert sent(upstream, "max_completion_tokens") == [None, 64]
        assert engine.lessons.of(model(engine)) == ("tokens:max_completion_tokens",)
        upstream.rules = Rules("chat", "m", (OLDER,))
        outcome = await ask(engine, max_output_tokens=64)
        assert outcome.code is None
        assert sent(upstream, "max_tokens")[2:] == [None, 64]
        assert engine.lessons.of(model(engine)) == ("tokens:max_tokens",)


async def test_several_refusals_in_a_row_teach_several_lessons() -> None:
    checks = (NO_STOP, NEWER, efforts("low"), choices("Invalid tool_choice", "auto"))
    async with learning(checks) as (engine, upstream):
        asked = {"stop": ["x"], "max_output_tokens": 9, "reasoning": {"effort": "minimal"}, "tool_choice": "required"}
        assert (await ask(engine, **asked)).code is None
        assert len(upstream.posts) == 5
        assert engine.lessons.of(model(engine)) == (
            *("drop:stop", "effort:minimal", "tokens:max_completion_tokens", "tool_choice:auto"),
        )


def thinking_beside_tools(body: Json) -> str | None:
    """OpenAI's Chat endpoint from GPT-5.4 on, which thinks unless it is told not to."""
    if body.get("tools") and body.get("reasoning_effort") != "none":
        return "Function tools with reasoning_effort are not supported for m in /v1/chat/completions."
    return None


@pytest.mark.parametrize("asked", [{}, {"reasoning": {"effort": "high"}}])
async def test_a_model_that_takes_no_tools_while_it_thinks_keeps_the_tools_and_thinks_where_there_are_none(
    asked: Json,
) -> None:
    async with learning((thinking_beside_tools,)) as (engine, upstream):
        for tools in ([TOOL], [TOOL], []):
            assert (await ask(engine, tools=tools, **asked)).code is None
        effort = asked.get("reasoning", {}).get("effort")
        assert sent(upstream, "reasoning_effort") == [effort, "none", "none", effort]
        assert [len(post.body.get("tools", ())) for post in upstream.posts] == [1, 1, 1, 0]


def unsigned(body: Json) -> str | None:
    """Gemini 3's refusal of a call without its signature."""
    firsts = [message["tool_calls"][0] for message in body["messages"] if message.get("tool_calls")]
    missing = any("extra_content" not in call for call in firsts)
    return "Function call is missing a thought_signature in functionCall parts." if missing else None


@pytest.mark.parametrize("client", ["responses", "chat"])
async def test_calls_whose_signature_a_restart_lost_get_what_google_takes_instead(client: str, tmp_path: Path) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]}, result]
    original = {"model": "m", "messages": history, "tools": [{"type": "function", "function": {"name": "run"}}]}
    hub, notes = CLIENTS["chat"].to_hub(original)
    if client == "responses":
        request = TurnRequest("responses", {**hub, "store": False}, False)
    else:
        request = TurnRequest("chat", hub, False, original=original, notes=tuple(notes))
    async with learning((unsigned,), type="gemini") as (engine, upstream):
        response = await engine.run(request, None)
        sent_calls = [message.get("tool_calls", [{}])[0] for message in upstream.posts[-1].body["messages"]]
        signed = [each.get("extra_content") for each in sent_calls]
        assert (response["status"], len(upstream.posts)) == ("completed", 2)
        assert signed == [None, {"google": {"thought_signature": "skip_thought_signature_validator"}}, None]
        assert engine.lessons.of(model(engine)) == ("sign_calls",)


def only_texts(body: Json) -> str | None:
    """Groq's refusal of content in parts."""
    places = [n for n, message in enumerate(body["messages"]) if not isinstance(message.get("content") or "", str)]
    return f"messages[{places[0]}].content must be a string" if places else None


@pytest.mark.parametrize(
    ("part", "learned"),
    [
        ({"type": "text", "text": "hi"}, ("known_fields",)),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}, ("known_fields", "no_images")),
    ],
)
async def test_a_list_of_texts_that_is_refused_says_nothing_about_images(part: Json, learned: tuple[str, ...]) -> None:
    original: Json = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, part]}]}
    hub, notes = CLIENTS["chat"].to_hub(original)
    async with learning((only_texts,)) as (engine, upstream):
        await engine.run(TurnRequest("chat", hub, False, original=original, notes=tuple(notes)), None)
        assert engine.lessons.of(model(engine)) == learned
        assert len(upstream.posts) == 1 + len(learned)


async def test_a_lesson_that_did_not_help_is_not_kept() -> None:
    async with learning((lambda body: "Unsupported parameter: 'stop'",)) as (engine, upstream):
        outcome = await ask(engine, stop=["x"])
        assert (outcome.status, outcome.failure is not None, len(upstream.posts)) == (400, True, 2)
        assert engine.lessons.listing(engine.config.providers) == {}


async def test_an_opaque_refusal_or_a_long_history_is_not_asked_again() -> None:
    for words in ("Invalid API parameter, please check the documentation.", "maximum context length is 8 tokens"):
        async with learning((lambda body, words=words: words,)) as (engine, upstream):  # type: ignore[misc]
            assert (await ask(engine)).status == 400
            assert len(upstream.posts) == 1


async def test_a_remembered_lesson_with_which_nothing_works_any_more_is_undone(tmp_path: Path) -> None:
    file = tmp_path / "lessons.json"
    async with learning((NO_STOP,), file=file) as (engine, upstream):
        await ask(engine, stop=["x"])
        needs_stop: Check = lambda body: None if "stop" in body else "Something is missing."  # noqa: E731
        upstream.rules = Rules("chat", "m", (needs_stop,))
        assert (await ask(engine, stop=["x"])).code is None
        assert sent(upstream, "stop") == [["x"], None, None, ["x"]]
        assert engine.lessons.listing(engine.config.providers) == {}
    assert StateFile(file).read() == {}


async def test_lessons_survive_a_restart_and_end_after_seven_days(tmp_path: Path) -> None:
    file, clock = tmp_path / "lessons.json", Clock()
    async with learning((NO_STOP,), file=file, clock=clock) as (engine, upstream):
        await ask(engine, stop=["x"])
        await engine.lessons.close()
        engine.lessons = Lessons(StateFile(file), clock)
        await ask(engine, stop=["x"])
        assert sent(upstream, "stop") == [["x"], None, None]
        clock.now += REMEMBERED_SECONDS + 1
        assert engine.lessons.listing(engine.config.providers) == {}
        await ask(engine, stop=["x"])
        assert sent(upstream, "stop") == [["x"], None, None, ["x"], None]


@pytest.mark.parametrize("content", ["{", "[]", '{"up": 1, "x": {"m": 2}}', '{"up": {"m": {"drop:stop": "soon"}}}'])
async def test_a_file_with_something_else_in_it_is_no_lesson(content: str, tmp_path: Path) -> None:
    (tmp_path / "lessons.json").write_text(content)
    lessons = Lessons(StateFile(tmp_path / "lessons.json"), Clock())
    assert lessons.listing([UP]) == {}
    lessons.learn(M, ["drop:stop"])
    await lessons.close()
    assert lessons.listing([UP]) == {"up/m": ("drop:stop",)}


async def test_a_provider_at_another_address_starts_afresh(tmp_path: Path) -> None:
    file, moved = StateFile(tmp_path / "lessons.json"), replace(UP, base_url="http://127.0.0.1:10/v1")
    lessons = Lessons(file, Clock())
    lessons.learn(M, ["drop:stop"])
    assert lessons.of(Target(moved, None, "m")) == ()
    lessons.learn(Target(moved, None, "m"), ["drop:seed"])
    await lessons.close()
    for known in (lessons, Lessons(file, Clock())):
        assert known.of(M) == ("drop:stop",)
        assert known.listing([moved]) == {"up/m": ("drop:seed",)}


async def test_a_file_that_cannot_be_written_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("")
    lessons = Lessons(StateFile(tmp_path / "in the way" / "lessons.json"), Clock())
    lessons.learn(M, ["drop:stop"])
    await lessons.close()
    assert lessons.of(M) == ("drop:stop",)


async def test_a_lock_that_another_process_holds_holds_nobody_up_and_no_lesson_is_lost(tmp_path: Path) -> None:
    file, held, free = StateFile(tmp_path / "lessons.json"), threading.Event(), threading.Event()

    def hold(content: Json) -> Json:
        held.set()
        free.wait(10)
        return {credential_id(UP, 0): {"n": {"drop:seed": Clock().now + 9}}}

    other = asyncio.create_task(asyncio.to_thread(file.update, hold))
    await eventually(held.is_set)
    lessons = Lessons(file, Clock())
    lessons.learn(M, ["drop:stop"])
    await asyncio.sleep(0)
    lessons.learn(M, ["drop:user"], wrong=["drop:stop"])
    assert lessons.listing([UP]) == {"up/m": ("drop:user",)}
    free.set()
    await other
    await lessons.close()
    for known in (lessons, Lessons(file, Clock())):
        assert known.listing([UP]) == {"up/m": ("drop:user",), "up/n": ("drop:seed",)}


async def test_two_processes_keep_each_others_lessons(tmp_path: Path) -> None:
    one, other = (Lessons(StateFile(tmp_path / "lessons.json"), Clock()) for _ in range(2))
    one.learn(M, ["drop:stop"])
    await one.close()
    other.learn(N, ["drop:seed"])
    await other.close()
    assert other.listing([UP]) == {"up/m": ("drop:stop",), "up/n": ("drop:seed",)}


@pytest.mark.parametrize(
    ("committed", "code", "again"),
    [
        (False, "upstream_rejected", True),
        (False, "upstream_error", True),
        (True, "upstream_rejected", False),
        (False, "upstream_auth", False),
        (False, "invalid_tool_arguments", False),
    ],
)
def test_only_a_refusal_before_content_is_answered_by_asking_again(committed: bool, code: str, again: bool) -> None:
    target = Target(provider("up", "http://a", "chat"), None, "m")
    turn = cast(Turn, SimpleNamespace(committed=committed))
    trial = Trial(Lessons(None, Clock()))
    assert trial.again(turn, target, Failure(code, "Unsupported parameter: 'stop'")) is again
    assert trial.ids(target) == (("drop:stop",) if again else ())


async def test_a_tool_is_never_what_is_left_out() -> None:
    words = "Unsupported parameter: 'tools'"
    async with learning((lambda body: words if body.get("tools") else None,)) as (engine, upstream):
        assert (await ask(engine)).status == 400
        assert [len(post.body["tools"]) for post in upstream.posts] == [1]


async def test_reasoning_that_only_another_account_can_read_is_left_out_for_this_request_only() -> None:
    error = {"error": {"code": "invalid_encrypted_content", "message": "The encrypted content could not be verified."}}
    items = [{"type": "reasoning", "id": "rs_x", "summary": [], "encrypted_content": "gAAAA"}]
    history: list[Json] = [{"role": "user", "content": "a"}, *items, {"role": "user", "content": "b"}]
    async with learning((), Status(400, error), Say("hi"), wire="responses") as (engine, upstream):
        assert (await ask(engine, input=history)).code is None
        assert [["gAAAA" in str(post.body), len(post.body["input"])] for post in upstream.posts] == [
            [True, 3],
            [False, 2],
        ]
        assert engine.lessons.listing(engine.config.providers) == {}


async def test_an_answer_that_does_not_fit_beside_a_prompt_gets_what_is_left_in_this_request_only() -> None:
    """Other prompts leave more, and a small limit is meant."""
    text = (
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 "
        "tokens and your request has 6000 input tokens (32000 > 32768 - 6000)."
    )
    answers = (Status(400, {"error": {"message": text}}), *(Say("hi") for _ in range(3)))
    async with learning((), *answers) as (engine, upstream):
        for limit in (32_000, 20, 30_000):
            assert (await ask(engine, max_output_tokens=limit)).code is None
        assert sent(upstream, "max_tokens") == [32_000, 26_768, 20, 30_000]


@pytest.mark.parametrize("name", ["kimi", "deepseek", "groq", "mistral", "llama.cpp", "qwen"])
async def test_a_plain_provider_in_front_of_a_strict_one_finds_its_way(name: str) -> None:
    """An aggregator or a self-made gateway behind the generic type: no preset knows it, its refusals do."""
    rules = PROVIDERS[name]
    awkward = {**TOOL, "parameters": {"type": "object", "properties": {"x": True, "y": {"oneOf": [{"const": 1}]}}}}
    call = {"type": "function_call", "call_id": "callabcde", "name": "run", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "callabcde", "output": "ok"}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]}
    history: list[Json] = [{"role": "user", "content": "a"}, thought, call, output]
    asked = {"tools": [awkward], "temperature": 0.1, "tool_choice": "required", "reasoning": {"effort": "minimal"}}
    words = tuple(check for check in rules.checks if "reasoning_back" not in check.__qualname__)
    async with learning(words, Call("run", {}), Say("done")) as (engine, upstream):
        outcome = await ask(engine, input=history, **asked)
        assert (outcome.code, len(upstream.posts) <= 7) == (None, True), upstream.refused
        before = len(upstream.refused)
        assert (await ask(engine, input=history, **asked)).code is None
        assert len(upstream.refused) == before


@pytest.mark.parametrize(
    ("said", "field", "expected"),
    [
        ("System messages are not allowed", "input", "developer"),
        ("Instructions are required", "instructions", "Be brief."),
    ],
)
async def test_a_chat_client_reaches_hosts_that_take_no_system_message_in_a_responses_body(
    said: str, field: str, expected: str
) -> None:
    def strict(body: Json) -> str | None:
        wrong = any(item["role"] == "system" for item in body["input"]) if field == "input" else not body.get(field)
        return said if wrong else None

    asked = {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]}
    async with learning((strict,), wire="responses") as (engine, upstream):
        for _ in range(2):
            hub, notes = CLIENTS["chat"].to_hub(asked)
            await engine.run(TurnRequest("chat", hub, False, original=asked, notes=tuple(notes)), None)
        assert len(upstream.posts) == 3
        sent = upstream.posts[-1].body
        assert (sent[field] if field == "instructions" else sent["input"][0]["role"]) == expected
