"""The official SDKs get the proxy's web search in their own formats, whatever the upstream speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from support.proxy import provider, running_proxy
from support.search_server import SearchServer
from support.turns import Call, Say, Turn
from support.upstream import Upstream

WIRES = pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
SEARCH = Call("web_search", {"query": "tides"})
ANSWER = Say("High tide is at noon [1].")


@asynccontextmanager
async def proxied(wire: str, folder: Path, *turns: Turn) -> AsyncIterator[str]:
    async with Upstream(*turns) as upstream, SearchServer() as search:
        config = {
            "providers": [provider("up", upstream.url, wire, models=["m"])],
            "tools": {"web_search": {"provider": "brave", "base_url": search.url, "api_key": "brave-key-of-a-test"}},
        }
        async with running_proxy(config, folder) as proxy:
            yield proxy.url


@WIRES
async def test_anthropics_sdk_streams_a_search_and_sends_it_back(wire: str, tmp_path: Path) -> None:
    tools: Any = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]
    messages: Any = [{"role": "user", "content": "When is high tide?"}]
    async with (
        proxied(wire, tmp_path, SEARCH, ANSWER, Say("Yes [2].")) as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
    ):
        async with client.messages.stream(model="m", max_tokens=99, messages=messages, tools=tools) as stream:
            first = await stream.get_final_message()
        messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": "Sure?"}]
        second = await client.messages.create(model="m", max_tokens=99, messages=messages, tools=tools)
    use, result, text = first.content
    assert use.type == "server_tool_use" and use.input == {"query": "tides"}
    assert result.type == "web_search_tool_result" and result.tool_use_id == use.id
    assert isinstance(result.content, list)
    assert [each.url for each in result.content] == ["https://one.example/tides", "https://two.example/tides"]
    assert text.type == "text" and text.text == ANSWER.text
    assert [getattr(each, "url", "") for each in text.citations or ()] == ["https://one.example/tides"]
    assert first.stop_reason == "end_turn"
    assert first.usage.server_tool_use is not None and first.usage.server_tool_use.web_search_requests == 1
    (later,) = second.content
    assert later.type == "text"
    assert [getattr(each, "url", "") for each in later.citations or ()] == ["https://two.example/tides"]


@WIRES
async def test_openais_sdk_gets_annotations_on_chat(wire: str, tmp_path: Path) -> None:
    async with (
        proxied(wire, tmp_path, SEARCH, ANSWER) as url,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
    ):
        completion = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "When is high tide?"}], web_search_options={}
        )
    message = completion.choices[0].message
    assert message.content == ANSWER.text
    assert [each.url_citation.url for each in message.annotations or ()] == ["https://one.example/tides"]
