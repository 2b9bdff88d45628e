"""A conversation that somebody else continues meanwhile: the slower turn is refused, and nothing of it is kept."""

from __future__ import annotations

import orjson
import pytest

from agentic_proxy.engine.engine import Engine
from agentic_proxy.store.base import ConversationRow, FinishedTurn
from support.engines import kept
from support.stored import conversation_ids, item, row
from support.turns import Json, Say
from support.websocket import HeldStore, connected, final_text, kinds, played, user

CONVERSATION = "conv_1"


async def conversation(engine: Engine) -> None:
    """An empty conversation."""
    await engine.store.create_conversation(ConversationRow(CONVERSATION, 1, b"{}"), [])


async def competitor(engine: Engine) -> None:
    """A turn of somebody else, committed to the conversation."""
    read = await engine.store.conversation_window(CONVERSATION)
    assert read is not None
    data = orjson.dumps({"id": "resp_theirs", "status": "completed"})
    theirs = row("resp_theirs", conversation=CONVERSATION, data=data)
    assert await engine.store.commit(FinishedTurn(theirs, (item("msg_theirs"),), (), read.revision))


async def held(store: HeldStore, engine: Engine) -> None:
    """When our turn wants to commit, somebody else does it first; then ours goes on."""
    await store.committing.wait()
    engine.store = store.inner
    await competitor(engine)
    store.release.set()


ERROR: Json = {"type": "invalid_request_error", "code": "conversation_locked", "param": "conversation"}


@pytest.mark.requirement("WS4")
async def test_a_turn_whose_conversation_changed_meanwhile_ends_with_conversation_locked() -> None:
    async with connected(played(Say("late"))) as (client, server, upstream):
        await conversation(server.engine)
        store = HeldStore(server.engine)
        await client.create(input=[user("ours")], conversation=CONVERSATION)
        await held(store, server.engine)
        events = await client.until("response.failed", "response.completed", "error")
        assert kinds(events).count("response.completed") == 0
        assert events[-1]["type"] == "response.failed"
        assert events[-1]["response"]["error"]["code"] == "conversation_locked"
        assert "conversation" in events[-1]["response"]["error"]["message"].lower()
        assert await kept(server.engine) == {"resp_theirs": "completed"}
        assert (await conversation_ids(server.engine.store, CONVERSATION) or ([], 0))[0] == ["msg_theirs"]
        assert len(upstream.requests) == 1
        # The socket is usable.
        warm = await client.turn(input=[], generate=False)
        assert kinds(warm) == ["response.created", "response.completed"]
        assert warm[0]["response"]["id"] != events[0]["response"]["id"]


@pytest.mark.requirement("WS5")
async def test_a_prewarm_whose_conversation_changed_meanwhile_is_one_error_frame() -> None:
    async with connected(played(Say("never"))) as (client, server, upstream):
        await conversation(server.engine)
        store = HeldStore(server.engine)
        await client.create(input=[user("ours")], conversation=CONVERSATION, generate=False)
        await held(store, server.engine)
        frame = await client.event()
        assert set(frame) == {"type", "status", "error"}
        message = frame["error"].pop("message")
        assert (frame["status"], frame["error"], bool(message)) == (400, ERROR, True)
        assert await kept(server.engine) == {"resp_theirs": "completed"}
        assert kinds(await client.turn(input=[], generate=False)) == ["response.created", "response.completed"]
        assert upstream.requests == []


async def test_turns_of_a_conversation_follow_each_other_on_one_socket() -> None:
    async with connected(played(Say("one")), played(Say("two"))) as (client, server, upstream):
        await conversation(server.engine)
        for text in ("one", "two"):
            assert final_text(await client.turn(input=[user("say")], conversation=CONVERSATION)) == text
        body = orjson.loads(upstream.requests[-1].body)
        assert [item.get("role") for item in body["input"]] == ["user", "assistant", "user"]
        assert [key for key in ("conversation", "conversation_id") if key in body] == []
