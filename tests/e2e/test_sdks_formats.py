"""The official OpenAI and Anthropic SDKs call a tool through the proxy over Chat and Messages, whatever the upstream
speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from support.proxy import provider, running_proxy
from support.turns import Call, Failed, Say, Turn
from support.upstream import Upstream

WIRES = pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
CALL = Call("f", {"a": 1})


@asynccontextmanager
async def proxied(wire: str, folder: Path, *turns: Turn) -> AsyncIterator[str]:
    async with Upstream(*turns) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["m"])]}
        async with running_proxy(config, folder) as proxy:
            yield proxy.url


@WIRES
async def test_openais_sdk_streams_a_call_and_its_usage(wire: str, tmp_path: Path) -> None:
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
    messages: Any = [{"role": "user", "content": "hi"}]
    async with (
        proxied(wire, tmp_path, (Say("So:"), CALL)) as url,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
        client.chat.completions.stream(
            model="m", messages=messages, tools=tools, stream_options={"include_usage": True}
        ) as stream,
    ):
        completion = await stream.get_final_completion()
    choice = completion.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("So:", "tool_calls")
    assert [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()] == [
        ("f", '{"a": 1}')
    ]
    assert completion.usage is not None and completion.usage.total_tokens == 110


@WIRES
async def test_anthropics_sdk_streams_a_call_and_its_usage(wire: str, tmp_path: Path) -> None:
    tools: Any = [{"name": "f", "input_schema": SCHEMA}]
    messages: Any = [{"role": "user", "content": "hi"}]
    async with (
        proxied(wire, tmp_path, (Say("So:"), CALL)) as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
    ):
        async with client.messages.stream(model="m", max_tokens=99, messages=messages, tools=tools) as stream:
            message = await stream.get_final_message()
        counted = await client.messages.count_tokens(model="m", messages=messages)
    text, call = message.content
    assert (text.type, call.type, message.stop_reason) == ("text", "tool_use", "tool_use")
    assert call.type == "tool_use" and (call.name, call.input) == ("f", {"a": 1})
    assert (message.usage.input_tokens, message.usage.output_tokens) == (100, 10)
    assert counted.input_tokens > 0


@WIRES
async def test_a_failure_in_a_stream_is_an_error_of_the_sdk(wire: str, tmp_path: Path) -> None:
    messages: Any = [{"role": "user", "content": "hi"}]
    async with proxied(wire, tmp_path, Failed("server_error", "Gone.", (Say("part"),))) as url:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client:
            with pytest.raises(anthropic.APIStatusError):
                async with client.messages.stream(model="m", max_tokens=99, messages=messages) as stream:
                    await stream.get_final_message()
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
            with pytest.raises(openai.APIError):
                async with client.chat.completions.stream(model="m", messages=messages) as chunks:
                    await chunks.get_final_completion()


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


@WIRES
async def test_both_sdks_show_a_picture_and_read_a_thought(wire: str, tmp_path: Path) -> None:
    async with Upstream(Say("A dot.", reasoning="One pixel.")) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["m"])]}
        async with running_proxy(config, tmp_path) as proxy:
            seen = await shown_to_openai(proxy.url), await shown_to_anthropic(proxy.url)
    assert seen == (("One pixel.", "A dot."), ("One pixel.", "A dot."))
    assert [PNG in post.raw.decode() for post in upstream.posts] == [True, True]


async def shown_to_openai(url: str) -> tuple[str, str | None]:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    messages: Any = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]
    thought = text = ""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        chunks = await client.chat.completions.create(model="m", messages=messages, reasoning_effort="low", stream=True)
        async for chunk in chunks:
            delta = chunk.choices[0].delta if chunk.choices else None
            thought += getattr(delta, "reasoning_content", None) or ""
            text += getattr(delta, "content", None) or ""
    return thought, text


async def shown_to_anthropic(url: str) -> tuple[str, str | None]:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    messages: Any = [{"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]}]
    thinking: Any = {"type": "enabled", "budget_tokens": 1024}
    async with (
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=2000, messages=messages, thinking=thinking) as stream,
    ):
        thought, text = (await stream.get_final_message()).content
    assert (thought.type, text.type) == ("thinking", "text")
    return thought.thinking, text.text


@WIRES
async def test_anthropics_tool_runner_brings_the_whole_conversation_of_its_thread(wire: str, tmp_path: Path) -> None:
    @anthropic.beta_async_tool
    async def f(a: int) -> str:
        """Doubles a number."""
        return f"doubled {2 * a}"

    async with Upstream(CALL, CALL, Say("Done.")) as upstream:
        config = {"providers": [provider("up", upstream.url, wire, models=["m"])]}
        async with (
            running_proxy(config, tmp_path) as proxy,
            anthropic.AsyncAnthropic(base_url=proxy.url, api_key="k", max_retries=0) as client,
        ):
            asked: Any = [{"role": "user", "content": "Double it."}]
            runner = client.beta.messages.tool_runner(model="m", max_tokens=99, tools=[f], messages=asked, stream=True)
            said = [[block.type for block in (await stream.get_final_message()).content] async for stream in runner]
        assert said == [["tool_use"], ["tool_use"], ["text"]]
        assert len(upstream.posts) == 3
        whole = upstream.posts[-1].raw.decode()
        assert ("Double it." in whole, whole.count("doubled 2")) == (True, 2)
