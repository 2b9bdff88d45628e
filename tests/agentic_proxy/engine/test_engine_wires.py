"""``wire: auto``: an upstream that speaks several formats is asked in the one that the client speaks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from support.proxy import UPSTREAM_KEY, Proxy, provider, running_proxy
from support.readers import read_chat, read_messages
from support.turns import Call, Say, Status
from support.upstream import Upstream

Json = dict[str, Any]

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
ASKED: dict[str, Json] = {
    "chat": {"messages": [{"role": "user", "content": "hi"}]},
    "messages": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 99},
    "responses": {"input": "hi"},
}


async def ask(url: str, client: str, **changes: Any) -> tuple[int, bytes]:
    """One streaming request in a client's format: status and body."""
    body = {"model": "m", "stream": True, **ASKED[client], **changes}
    async with aiohttp.ClientSession() as session, session.post(url + PATHS[client], json=body) as answer:
        return answer.status, await answer.read()


def text_of(client: str, data: bytes) -> str:
    if client == "chat":
        return read_chat(data).text
    if client == "messages":
        return read_messages(data).text
    (end,) = [
        json.loads(line[6:]) for line in data.split(b"\n") if line.startswith(b'data: {"type":"response.completed')
    ]
    return str(end["response"]["output"][-1]["content"][0]["text"])


@asynccontextmanager
async def proxied(kind: str, tmp_path: Path, upstream: Upstream, *more: Json, **settings: Any) -> AsyncIterator[Proxy]:
    entry = {"name": "up", "type": kind, "wire": "auto", "base_url": f"{upstream.url}/v1", "api_key": UPSTREAM_KEY}
    providers = [{**entry, "models": ["m"]}, *more]
    async with running_proxy({"providers": providers, **settings}, tmp_path) as proxy:
        yield proxy


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("openai-compatible", PATHS),
        ("ollama", PATHS),
        ("openai", {**PATHS, "messages": "/v1/responses"}),
        ("mistral", dict.fromkeys(PATHS, "/v1/chat/completions")),
        ("anthropic", dict.fromkeys(PATHS, "/v1/messages")),
        (
            "kimi",
            {"chat": "/v1/chat/completions", "responses": "/v1/chat/completions", "messages": "/anthropic/v1/messages"},
        ),
    ],
)
async def test_each_client_is_served_in_its_own_format_where_the_upstream_has_it(
    kind: str, paths: dict[str, str], tmp_path: Path
) -> None:
    async with Upstream(Say("hello")) as upstream, proxied(kind, tmp_path, upstream) as proxy:
        for client in PATHS:
            status, data = await ask(proxy.url, client)
            assert (status, text_of(client, data)) == (200, "hello"), (client, data)
    assert [post.path for post in upstream.posts] == [paths[client] for client in PATHS]
    key = "x-api-key" if kind == "anthropic" else "authorization"
    assert all(UPSTREAM_KEY in post.headers[key] for post in upstream.posts)
    assert all("anthropic-version" in post.headers for post in upstream.posts if post.path.endswith("/messages"))


async def test_a_format_that_turns_out_not_to_be_there_is_asked_for_once(tmp_path: Path) -> None:
    async with Upstream(Say("hello"), absent=("messages",)) as upstream:
        async with proxied("openai-compatible", tmp_path, upstream) as proxy:
            for _ in range(2):
                status, data = await ask(proxy.url, "messages")
                assert (status, text_of("messages", data)) == (200, "hello")
        assert [post.path for post in upstream.posts] == [PATHS["messages"], PATHS["chat"], PATHS["chat"]]
        async with proxied("openai-compatible", tmp_path, upstream) as proxy:
            await ask(proxy.url, "messages")
    assert [post.path for post in upstream.posts][3:] == [PATHS["chat"]], "it is remembered over a restart"


async def test_a_model_that_thinks_beside_tools_in_one_format_only_is_asked_in_that_one(tmp_path: Path) -> None:
    message = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions."
    refused = Status(400, {"error": {"message": message, "type": "invalid_request_error", "param": "reasoning_effort"}})
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    async with Upstream(refused, Say("hello")) as upstream, proxied("openai", tmp_path, upstream) as proxy:
        for _ in range(2):
            status, data = await ask(proxy.url, "chat", tools=[tool], reasoning_effort="high")
            assert (status, text_of("chat", data)) == (200, "hello")
    assert [post.path for post in upstream.posts] == [PATHS["chat"], PATHS["responses"], PATHS["responses"]]
    assert upstream.posts[-1].body["reasoning"]["effort"] == "high"


async def test_what_was_learned_of_one_format_changes_nothing_for_clients_of_another(tmp_path: Path) -> None:
    async with (
        Upstream(Say("hello"), absent=("messages",)) as upstream,
        proxied("openai-compatible", tmp_path, upstream) as proxy,
    ):
        await ask(proxy.url, "messages")
        await ask(proxy.url, "chat", novel={"kept": "as it came"})
    assert [post.path for post in upstream.posts] == [PATHS["messages"], PATHS["chat"], PATHS["chat"]]
    assert upstream.posts[-1].body["novel"] == {"kept": "as it came"}


async def test_a_bad_request_does_not_ask_again_for_the_format_that_is_known_to_be_missing(tmp_path: Path) -> None:
    async with (
        Upstream(Say("hello"), Status(400), absent=("messages",)) as upstream,
        proxied("openai-compatible", tmp_path, upstream) as proxy,
    ):
        assert [(await ask(proxy.url, "messages"))[0] for _ in range(2)] == [200, 400]
    assert [post.path for post in upstream.posts] == [PATHS["messages"], PATHS["chat"], PATHS["chat"]]


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_upstream_that_has_no_address_at_all_is_an_error_and_teaches_nothing(
    status: int, tmp_path: Path
) -> None:
    async with Upstream(Status(status)) as upstream, proxied("openai-compatible", tmp_path, upstream) as proxy:
        for _ in range(2):
            code, data = await ask(proxy.url, "messages")
            assert (code >= 400, json.loads(data)["type"]) == (True, "error")
    assert [post.path for post in upstream.posts] == [PATHS["messages"], PATHS["chat"]] * 2


async def test_another_refusal_is_not_taken_for_a_missing_format(tmp_path: Path) -> None:
    async with Upstream(Status(400)) as upstream, proxied("openai-compatible", tmp_path, upstream) as proxy:
        assert (await ask(proxy.url, "messages"))[0] == 400
    assert [post.path for post in upstream.posts] == [PATHS["messages"]]


async def test_a_fallback_is_asked_in_a_wire_of_its_own(tmp_path: Path) -> None:
    async with Upstream(Status(401)) as first, Upstream(Say("hello")) as second:
        other = provider("other", second.url, "chat", models=["n"])
        fallback = {"fallback": {"up/m": ["other/n"]}}
        async with proxied("ollama", tmp_path, first, other, models=fallback) as proxy:
            status, data = await ask(proxy.url, "messages")
    assert (status, text_of("messages", data)) == (200, "hello")
    assert [post.path for post in (*first.posts, *second.posts)] == [PATHS["messages"], PATHS["chat"]]


async def test_what_a_provider_says_of_its_fields_holds_on_its_messages_endpoint_too(tmp_path: Path) -> None:
    """A tool that the proxy runs itself forces the way over the hub."""
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "f", "input_schema": {"type": "object"}}]
    search = {"provider": "searxng", "base_url": "http://127.0.0.1:9"}
    async with (
        Upstream(Call("f", {})) as upstream,
        proxied("minimax", tmp_path, upstream, tools={"web_search": search}) as proxy,
    ):
        status, data = await ask(proxy.url, "messages", tools=tools)
    assert (status, [call["name"] for call in read_messages(data).calls]) == (200, ["f"])
    (post,) = upstream.posts
    assert post.path == "/anthropic/v1/messages"
    assert "reasoning_split" not in post.body and "cache_control" not in post.body
