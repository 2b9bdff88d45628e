"""Background responses: made without their client, polled, followed, cancelled, ended when that process is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Store
from agentic_proxy.engine import background as module
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.owner import owner_name
from agentic_proxy.engine.turn import Turn, TurnRequest
from agentic_proxy.store.base import ConversationRow, Page
from agentic_proxy.store.open import open_plainly
from support.engines import KEEPING, PATIENT, SMALL, RecordingSink, body, eventually, provider
from support.raw_upstream import LIMIT, RESET, RawUpstream, answer
from support.stored import row
from support.turns import Json, Say
from support.websocket import BrokenStore, gate, gated, played, sent, texts, user
from translators.failure import Failure

OPENING = ["response.created", "response.queued", "response.in_progress"]


@asynccontextmanager
async def engine_on(directory: Path, upstream: RawUpstream) -> AsyncIterator[Engine]:
    """An engine over a store in a file, so that several see the same."""
    config = Config(
        providers=(provider("up", upstream.url, "responses"),), timeouts=PATIENT, limits=SMALL,
        store=Store(f"sqlite:///{directory}/state.db", KEEPING),
    )  # fmt: skip
    engine = await Engine.create(config)
    try:
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def two_engines(directory: Path, *scripts: Any) -> AsyncIterator[tuple[Engine, Engine, RawUpstream]]:
    async with (
        RawUpstream(*scripts) as upstream,
        engine_on(directory, upstream) as one,
        engine_on(directory, upstream) as two,
    ):
        yield one, two, upstream


async def begin(engine: Engine, **fields: Any) -> Json:
    """A background response, as it is first answered."""
    return await engine.run(TurnRequest("responses", body(background=True, **fields), False), None)


async def show(engine: Engine, response_id: str) -> Json:
    data = await engine.background.response(response_id)
    assert data is not None
    found = orjson.loads(data)
    assert isinstance(found, dict)
    return found


async def finished(engine: Engine, response_id: str) -> Json:
    """Wait for the end of a response of this engine."""
    running = engine.background._running.get(response_id)
    if running is not None and running.task is not None:
        await asyncio.wait([running.task])
    return await show(engine, response_id)


async def test_a_response_is_queued_then_made_then_there(tmp_path: Path) -> None:
    async with two_engines(tmp_path, gated("a long answer")) as (engine, other, upstream):
        opened = gate(upstream)
        first = await begin(engine)
        assert (first["status"], first["background"], first["output"]) == ("queued", True, [])
        assert first["id"].startswith("resp_")
        assert (await show(engine, first["id"]))["status"] == "in_progress"
        assert (await show(other, first["id"]))["status"] == "in_progress"
        opened.set()
        last = await finished(engine, first["id"])
        assert (last["status"], last["output"][0]["content"][0]["text"]) == ("completed", "a long answer")
        assert last == await show(other, first["id"])
        assert {**last, **{key: first[key] for key in ("status", "output", "usage", "completed_at")}} == first


@pytest.mark.parametrize("store", [True, False])
async def test_a_stream_goes_on_without_its_client_and_can_be_taken_up_again(tmp_path: Path, store: bool) -> None:
    async with two_engines(tmp_path, gated("a long answer")) as (engine, other, upstream):
        opened = gate(upstream)
        left, sink = RecordingSink(fail_after=1), RecordingSink()
        request = TurnRequest("responses", {**body(background=True, store=store), "stream": True}, True)
        task = asyncio.create_task(engine.run(request, left))
        await left.seen(b"response.created")
        response_id = left.events()[0]["response"]["id"]
        follower = asyncio.create_task(engine.background.follow(response_id, 1, sink, 10.0))
        await sink.seen(b"text.delta")
        opened.set()
        with pytest.raises(ConnectionError):
            await task
        await follower
        await engine.background.follow(response_id, -1, whole := RecordingSink(), 10.0)
        assert whole.kinds()[:3] == OPENING
        assert [event["response"]["status"] for event in whole.events()[:3]] == ["queued", "queued", "in_progress"]
        assert sink.events() == whole.events()[2:]
        assert whole.kinds()[-1] == "response.completed"
        assert [event["sequence_number"] for event in whole.events()] == list(range(len(whole.events())))
        if store:
            await other.background.follow(response_id, 1, elsewhere := RecordingSink(), 10.0)
            assert elsewhere.data == sink.data
        else:
            assert await engine.store.response(response_id) is None
            with pytest.raises(Failure, match="not found"):
                await other.background.follow(response_id, 1, RecordingSink(), 10.0)


async def test_what_was_made_in_the_background_can_be_continued(tmp_path: Path) -> None:
    async with two_engines(tmp_path, played(Say("hello"))) as (engine, other, upstream):
        await engine.store.create_conversation(ConversationRow("conv_1", 1, b"{}"), [])
        first = await begin(engine, input="one")
        await finished(engine, first["id"])
        second = await begin(other, input="two", previous_response_id=first["id"])
        await finished(other, second["id"])
        assert texts(sent(upstream)["input"]) == ["user: one", "assistant: hello", "user: two"]
        listing = await other.store.input_items(second["id"], Page(order="asc"))
        assert listing is not None
        assert texts([orjson.loads(item.data) for item in listing.items]) == texts(sent(upstream)["input"])
        third = await begin(engine, input="three", conversation={"id": "conv_1"})
        assert (await finished(engine, third["id"]))["conversation"] == {"id": "conv_1"}
        window = await engine.store.conversation_window("conv_1")
        assert window is not None
        assert texts([orjson.loads(item) for item in window.items]) == ["user: three", "assistant: hello"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"previous_response_id": "resp_no"}, "previous_response_not_found"),
        ({"conversation": "conv_no"}, "conversation_not_found"),
        ({"model": "zork"}, "model_not_found"),
    ],
)
async def test_what_is_wrong_with_a_request_is_said_at_once(tmp_path: Path, fields: Json, code: str) -> None:
    async with two_engines(tmp_path, played(Say("hello"))) as (engine, _, upstream):
        for sink in (None, RecordingSink()):
            with pytest.raises(Failure) as caught:
                await engine.run(TurnRequest("responses", body(background=True, **fields), sink is not None), sink)
            assert caught.value.code == code
        assert upstream.requests == []
        assert (await engine.store.stats()).responses == 0


async def test_a_failure_is_found_in_the_response(tmp_path: Path, no_pauses: None) -> None:
    async with two_engines(tmp_path, (answer(400, b'{"error":{"message":"no","code":"odd"}}'),)) as (engine, other, _):
        first = await begin(engine)
        last = await finished(engine, first["id"])
        assert (last["status"], last["error"]["code"], last["output"]) == ("failed", "invalid_prompt", [])
        assert await show(other, first["id"]) == last


@pytest.mark.parametrize("store", [True, False])
async def test_cancelling_is_final_and_may_be_repeated(tmp_path: Path, store: bool) -> None:
    async with two_engines(tmp_path, gated("never all of it")) as (engine, other, upstream):
        gate(upstream)
        first = await begin(engine, store=store)
        sink = RecordingSink()
        follower = asyncio.create_task(engine.background.follow(first["id"], -1, sink, 10.0))
        await sink.seen(b"text.delta")
        gone = orjson.loads(await engine.background.cancel(first["id"]))
        await follower
        assert (gone["status"], gone["error"]) == ("cancelled", None)
        assert sink.kinds()[-1] == "response.failed"
        assert sink.events()[-1]["response"]["error"]["code"] == "response_cancelled"
        await upstream.until(lambda seen: not seen.open)
        for each in (engine, other) if store else (engine,):
            assert orjson.loads(await each.background.cancel(first["id"])) == gone
            assert await show(each, first["id"]) == gone


class Holding:
    """A store in which one kind of write waits: ``arrived`` is set when one has come, and it goes on with ``gate``."""

    def __init__(self, engine: Engine, held: str) -> None:
        self._inner, self._held = engine.store, held
        self.arrived, self.gate = asyncio.Event(), asyncio.Event()
        engine.store = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._inner, name)

        async def wait(*arguments: Any) -> Any:
            self.arrived.set()
            await self.gate.wait()
            return await real(*arguments)

        return wait if name == self._held else real


@pytest.mark.parametrize(("held", "status"), [("commit", "completed"), ("append_events", "cancelled")])
async def test_cancelling_while_the_end_is_stored_changes_nothing(tmp_path: Path, held: str, status: str) -> None:
    async with two_engines(tmp_path, gated("an answer")) as (engine, other, upstream):
        opened, store = gate(upstream), Holding(engine, held)
        first = await begin(engine)
        sink = RecordingSink()
        follower = asyncio.create_task(engine.background.follow(first["id"], -1, sink, 10.0))
        await sink.seen(b"text.delta")
        if held == "commit":
            opened.set()
        await store.arrived.wait()
        acts = [asyncio.create_task(engine.background.cancel(first["id"]))]
        running = engine.background._running[first["id"]]
        if held == "append_events":
            await eventually(lambda: running.response["status"] == status)
        for _ in range(2):
            await asyncio.sleep(0)
            acts.append(asyncio.create_task(engine.background.cancel(first["id"])))
        await asyncio.sleep(0)
        store.gate.set()
        async with asyncio.timeout(LIMIT):
            answers = [orjson.loads(answer) for answer in await asyncio.gather(*acts)]
            await follower
        assert [answer["status"] for answer in answers] == [status] * 3
        assert sink.kinds()[-1] == ("response.completed" if status == "completed" else "response.failed")
        assert engine.background._running == {}
        await other.background.follow(first["id"], -1, elsewhere := RecordingSink(), 10.0)
        assert elsewhere.data == sink.data
        assert await show(other, first["id"]) == answers[0]


async def test_another_proxy_cancels_too(tmp_path: Path) -> None:
    async with two_engines(tmp_path, gated("an answer")) as (engine, other, upstream):
        opened = gate(upstream)
        first = await begin(engine)
        await upstream.until(lambda seen: bool(seen.requests))
        gone = orjson.loads(await other.background.cancel(first["id"]))
        assert gone["status"] == "cancelled"
        opened.set()
        assert (await finished(engine, first["id"]))["status"] == "cancelled"
        assert await show(engine, first["id"]) == gone


async def test_only_background_responses_can_be_cancelled_or_followed(tmp_path: Path) -> None:
    async with two_engines(tmp_path, played(Say("hello"))) as (engine, _, _):
        plain = await engine.run(TurnRequest("responses", body(), False), None)
        background = engine.background
        for act in (background.cancel(plain["id"]), background.follow(plain["id"], 0, RecordingSink(), 10.0)):
            with pytest.raises(Failure, match="background=true") as caught:
                await act
            assert (caught.value.code, caught.value.status) == ("invalid_request_error", 400)
        for act in (background.cancel("resp_no"), background.follow("resp_no", 0, RecordingSink(), 10.0)):
            with pytest.raises(Failure) as caught:
                await act
            assert (caught.value.code, caught.value.status) == ("response_not_found", 404)


@pytest.mark.parametrize("store", [True, False])
async def test_deleting_ends_what_runs(tmp_path: Path, store: bool) -> None:
    async with two_engines(tmp_path, gated("an answer")) as (engine, other, upstream):
        gate(upstream)
        first = await begin(engine, store=store)
        assert await engine.background.delete(first["id"])
        for each in (engine, other):
            assert await each.background.response(first["id"]) is None
            assert not await each.background.delete(first["id"])


async def test_an_unstored_response_is_forgotten_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 0.0)
    async with two_engines(tmp_path, played(Say("hello"))) as (engine, _, _):
        first = await begin(engine, store=False)
        await eventually(lambda: not engine.background._running)
        assert await engine.background.response(first["id"]) is None


async def test_there_may_not_be_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNNING", 1)
    async with two_engines(tmp_path, gated("an answer")) as (engine, _, upstream):
        gate(upstream)
        first = await begin(engine)
        with pytest.raises(Failure) as caught:
            await begin(engine)
        assert (caught.value.code, caught.value.status) == ("rate_limit_exceeded", 429)
        await engine.background.cancel(first["id"])
        assert (await begin(engine))["status"] == "queued"


async def test_a_stop_lets_responses_finish_and_fails_the_rest(tmp_path: Path) -> None:
    async with RawUpstream(gated("an answer")) as upstream:
        opened = gate(upstream)
        async with engine_on(tmp_path, upstream) as engine:
            quick = await begin(engine)
            opened.set()
            await engine.drain(LIMIT)
            assert (await show(engine, quick["id"]))["status"] == "completed"
            with pytest.raises(Failure, match="shutting down"):
                await begin(engine)
        opened.clear()
        async with engine_on(tmp_path, upstream) as engine:
            slow = await begin(engine)
            await upstream.until(lambda seen: len(seen.requests) == 2)
        async with engine_on(tmp_path, upstream) as engine:
            found = await show(engine, slow["id"])
            assert (found["status"], found["error"]["code"]) == ("failed", "server_error")
            assert "stopped" in found["error"]["message"]


async def test_a_start_ends_what_a_dead_process_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, pid, _, token = owner_name().split("/")
    dead, alive = f"{machine}/{pid}/0/{token}", owner_name()
    async with RawUpstream(played(Say("hello"))) as upstream:
        async with engine_on(tmp_path, upstream) as engine:
            for name, owner in (("resp_dead", dead), ("resp_alive", alive)):
                await engine.store.renew(owner, 1 << 40)
                await engine.store.begin(row(name, "in_progress", background=True), (), owner)
        async with engine_on(tmp_path, upstream) as engine:
            found = await show(engine, "resp_dead")
            assert (found["status"], found["error"]["code"]) == ("failed", "server_restarted")
            assert (await show(engine, "resp_alive"))["status"] == "in_progress"
            await engine.store.renew(alive, 0)
            found = await show(engine, "resp_alive")
            assert (found["status"], found["error"]["code"]) == ("failed", "server_restarted"), "found by who asks"


async def test_a_bug_ends_the_response_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Turn) -> Json:
        raise RuntimeError("bug")

    async with two_engines(tmp_path, (RESET,)) as (engine, _, _):
        monkeypatch.setattr(Turn, "run", broken)
        first = await begin(engine, store=False)
        assert (await finished(engine, first["id"]))["status"] == "failed"


@pytest.mark.parametrize("deleted", [False, True])
async def test_an_end_that_the_store_did_not_take_is_told_and_stored_when_it_does(
    tmp_path: Path, deleted: bool
) -> None:
    async with two_engines(tmp_path, gated("an answer")) as (engine, other, upstream):
        opened, store = gate(upstream), engine.store
        first = await begin(engine)
        BrokenStore(engine, lambda: Failure("store_failed", "no"))
        opened.set()
        last = await finished(engine, first["id"])
        assert (last["status"], last["error"]["message"]) == ("failed", "no")
        await engine.background.follow(first["id"], -1, sink := RecordingSink(), 10.0)
        assert sink.kinds()[-1] == "response.failed"
        assert (await show(other, first["id"]))["status"] == "in_progress"
        engine.store = store
        if deleted:
            assert await engine.background.delete(first["id"])
        else:
            await engine.background.fail_orphans()
            assert await show(engine, first["id"]) == await show(other, first["id"])
            assert (await show(other, first["id"]))["error"] == last["error"]
        assert (await other.background.response(first["id"]) is None) == deleted
        assert engine.background._running == {}


async def test_an_immediate_stream_is_a_proper_one(tmp_path: Path) -> None:
    async with two_engines(tmp_path, played(Say("hello"))) as (engine, _, _):
        sink = RecordingSink()
        request = TurnRequest("responses", {**body(background=True, input=[user("hi")]), "stream": True}, True)
        response = await engine.run(request, sink)
        assert sink.kinds()[:3] == OPENING
        assert sink.events()[-1]["response"] == response
        assert sink.starts == 1


async def test_on_a_connection_that_remembers_there_is_no_background(tmp_path: Path) -> None:
    async with two_engines(tmp_path, played(Say("hello"))) as (engine, _, _):
        sink = RecordingSink()
        request = TurnRequest("responses", {**body(background=True), "stream": True}, True, LocalWindows(1 << 20))
        response = await engine.run(request, sink)
        assert (response["status"], response["background"]) == ("completed", False)
        assert "response.queued" not in sink.kinds()
        assert (await show(engine, response["id"]))["status"] == "completed"


async def test_a_living_process_of_this_machine_whose_lease_ended_in_a_sleep_is_waited_for_once() -> None:
    clock = iter((1030.0, 90_000.0, 90_059.0, 90_061.0))
    store = await open_plainly("memory:", clock=lambda: 1000.0)
    background, names, seen = module.Background(store, lambda: next(clock)), ("resp_here", "resp_elsewhere"), []
    for name, owner in zip(names, (owner_name(), "elsewhere/1/2/3"), strict=True):
        await store.renew(owner, 1060)
        await store.begin(row(name, "in_progress", background=True), (), owner)
    for _ in range(4):
        await background.fail_orphans()
        seen.append([each.status for name in names if (each := await store.response(name))])
    await store.close()
    assert seen == [["in_progress"] * 2, *([["in_progress", "failed"]] * 2), ["failed"] * 2]
