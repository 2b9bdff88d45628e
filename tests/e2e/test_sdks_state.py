"""OpenAI's Python SDK and Agents SDK with everything that is stored: responses, background, conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import agents
import openai
import pytest

from support.proxy import provider, running_proxy
from support.turns import Call, Say, Turn
from support.upstream import Upstream

WIRES = pytest.mark.parametrize("wire", ["chat", "responses"])
MODEL = "gpt-5.5"
NOT_FOUND = openai.NotFoundError


@asynccontextmanager
async def sdk(wire: str, folder: Path, *turns: Turn) -> AsyncIterator[tuple[openai.AsyncOpenAI, Upstream]]:
    """A client of the proxy in front of a scripted upstream."""
    async with Upstream(*turns) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=[MODEL])]}
        async with (
            running_proxy(config, folder) as proxy,
            openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="sk-client", max_retries=0) as client,
        ):
            yield client, upstream


async def polled(client: openai.AsyncOpenAI, response: Any) -> Any:
    while response.status in ("queued", "in_progress"):
        response = await client.responses.retrieve(response.id)
    return response


def history(upstream: Upstream) -> list[str]:
    """The texts that went upstream last."""
    body = upstream.posts[-1].body
    texts = [entry.get("content") for entry in body.get("messages") or body["input"]]
    return [text if isinstance(text, str) else text[0]["text"] for text in texts]


@WIRES
async def test_responses_are_stored_continued_streamed_listed_and_deleted(wire: str, tmp_path: Path) -> None:
    async with sdk(wire, tmp_path, Say("hello")) as (client, upstream):
        first = await client.responses.create(model=MODEL, input="one")
        assert first.output_text == "hello"
        assert (await client.responses.retrieve(first.id)).to_dict() == first.to_dict()
        async with client.responses.stream(model=MODEL, input="two", previous_response_id=first.id) as stream:
            async for _ in stream:
                pass
            second = await stream.get_final_response()
        assert second.previous_response_id == first.id
        assert history(upstream) == ["one", "hello", "two"]
        items = [item async for item in await client.responses.input_items.list(second.id, order="asc", limit=1)]
        assert [item.content[0].text for item in items] == ["one", "hello", "two"]  # type: ignore[union-attr]
        await client.responses.delete(first.id)
        with pytest.raises(NOT_FOUND):
            await client.responses.retrieve(first.id)
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model=MODEL, input="x", previous_response_id=first.id)
        assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")
        count = await client.responses.input_tokens.count(model=MODEL, input="x" * 400)
        assert count.input_tokens == 104


@WIRES
async def test_background_responses_are_polled_resumed_and_cancelled(wire: str, tmp_path: Path) -> None:
    async with sdk(wire, tmp_path, Say("hello")) as (client, _):
        begun = await client.responses.create(model=MODEL, input="one", background=True)
        assert (begun.status, begun.background) == ("queued", True)
        ended = await polled(client, begun)
        assert (ended.status, ended.output_text) == ("completed", "hello")
        stream = await client.responses.create(model=MODEL, input="two", background=True, stream=True)
        event = await anext(aiter(stream))
        await stream.close()
        assert event.type == "response.created"
        resumed = await client.responses.retrieve(event.response.id, stream=True, starting_after=event.sequence_number)
        events = [each async for each in resumed]
        assert [each.sequence_number for each in events] == list(range(1, len(events) + 1))
        assert [each.type for each in events[:2]] == ["response.queued", "response.in_progress"]
        assert events[-1].type == "response.completed"
        assert (await client.responses.cancel(event.response.id)).status == "completed"
        with pytest.raises(openai.BadRequestError):
            await client.responses.cancel((await client.responses.create(model=MODEL, input="three")).id)


@WIRES
async def test_conversations_and_their_items(wire: str, tmp_path: Path) -> None:
    async with sdk(wire, tmp_path, Say("hello")) as (client, upstream):
        made = await client.conversations.create(
            metadata={"a": "b"}, items=[{"type": "message", "role": "user", "content": "before"}]
        )
        response = await client.responses.create(model=MODEL, input="one", conversation=made.id)
        assert response.conversation is not None
        assert response.conversation.id == made.id
        later = await client.responses.create(model=MODEL, input="two", conversation={"id": made.id}, background=True)
        assert (await polled(client, later)).status == "completed"
        assert history(upstream) == ["before", "one", "hello", "two"]
        items = [item async for item in await client.conversations.items.list(made.id, order="asc", limit=2)]
        assert [item.content[0].text for item in items] == [*history(upstream), "hello"]  # type: ignore[union-attr]
        added = await client.conversations.items.create(made.id, items=[{"role": "user", "content": "more"}])
        (item,) = added.data
        assert item.id is not None
        shown = await client.conversations.items.retrieve(item.id, conversation_id=made.id)
        assert shown.to_dict() == item.to_dict()
        assert (await client.conversations.items.delete(item.id, conversation_id=made.id)).id == made.id
        with pytest.raises(NOT_FOUND):
            await client.conversations.items.retrieve(item.id, conversation_id=made.id)
        assert (await client.conversations.update(made.id, metadata={"c": "d"})).metadata == {"c": "d"}
        assert (await client.conversations.delete(made.id)).deleted
        with pytest.raises(NOT_FOUND):
            await client.conversations.retrieve(made.id)
        with pytest.raises(NOT_FOUND):
            await client.responses.create(model=MODEL, input="x", conversation=made.id)


@WIRES
async def test_a_window_is_compacted_and_sent_back(wire: str, tmp_path: Path) -> None:
    async with sdk(wire, tmp_path, Say("SUMMARY"), Say("on it")) as (client, upstream):
        window = await client.responses.compact(
            model=MODEL, input=[{"role": "user", "content": "do"}, {"role": "assistant", "content": "did"}]
        )
        # The SDK's own types know no user message in an output and would warn.
        back: list[Any] = [item.to_dict(warnings=False) for item in window.output]
        response = await client.responses.create(model=MODEL, input=[*back, {"role": "user", "content": "go on"}])
        assert response.output_text == "on it"
        assert [text.split()[-1] for text in history(upstream)] == ["do", "SUMMARY", "on"]


@WIRES
@pytest.mark.parametrize("store", [True, False])
async def test_the_agents_sdk_replays_the_ids_of_stored_items(wire: str, store: bool, tmp_path: Path) -> None:
    calls = (Call("add", {"a": 40, "b": 2}), Say("It is 42."), Call("add", {"a": 1, "b": 2}), Say("It is 3."))
    async with sdk(wire, tmp_path, *calls) as (client, upstream):

        @agents.function_tool
        def add(a: int, b: int) -> int:
            """Adds two integers."""
            return a + b

        agent = agents.Agent(
            name="a", instructions="Add.", tools=[add], model_settings=agents.ModelSettings(store=store),
            model=agents.OpenAIResponsesModel(model=MODEL, openai_client=client),
        )  # fmt: skip
        config = agents.RunConfig(tracing_disabled=True)
        first = await agents.Runner.run(agent, "40 + 2?", run_config=config)
        assert first.final_output == "It is 42."
        again: list[Any] = [*first.to_input_list(), {"role": "user", "content": "1 + 2?"}]
        second = await agents.Runner.run(agent, again, run_config=config)
        assert second.final_output == "It is 3."
        assert len(upstream.posts) == 4
