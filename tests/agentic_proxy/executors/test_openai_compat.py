"""What goes to an OpenAI-compatible upstream, and what its model list is worth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentic_proxy import __version__
from agentic_proxy.config.secrets import Secret
from agentic_proxy.executors import openai_compat
from agentic_proxy.executors.http import HttpTransport
from agentic_proxy.executors.openai_compat import OpenAICompatible
from support.engines import provider
from support.raw_upstream import CLOSE, LIMIT, OK, STALL, RawUpstream, Script, answer, chunk
from translators.failure import Failure

KEY = Secret("sk-upstream-key-of-a-test")


@asynccontextmanager
async def executor(
    script: Script, wire: str = "chat", **changes: Any
) -> AsyncIterator[tuple[OpenAICompatible, RawUpstream]]:
    transport = HttpTransport(LIMIT)
    async with RawUpstream(script) as upstream:
        try:
            yield OpenAICompatible(provider("up", upstream.url, wire, **changes), transport), upstream
        finally:
            await transport.close()


@pytest.mark.parametrize(("wire", "path"), [("chat", "/v1/chat/completions"), ("responses", "/v1/responses")])
@pytest.mark.requirement("P8", "D10")
async def test_a_request_has_the_proxys_own_headers_and_the_providers_key(wire: str, path: str) -> None:
    async with executor((answer(200, b"x"),), wire) as (made, upstream):
        (await made.open(b'{"model":"m"}', KEY)).close()
        (request,) = upstream.requests
    assert (request.line, request.body) == (f"POST {path} HTTP/1.1", b'{"model":"m"}')
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{upstream.port}",
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "User-Agent": f"agentic-proxy/{__version__}",
        "Authorization": f"Bearer {KEY.reveal()}",
        "Accept-Encoding": "identity",
        "Content-Length": "13",
    }


async def test_without_a_key_there_is_no_authorization() -> None:
    async with executor((answer(200, b"x"),)) as (made, upstream):
        (await made.open(b"{}", None)).close()
        assert upstream.requests[0].header("authorization") == []


async def test_configured_headers_come_on_top_and_none_goes_out_twice() -> None:
    headers = {"user-agent": Secret("mine/1"), "X-Team": Secret("blue"), "authorization": Secret("Basic other")}
    async with executor((answer(200, b"x"),), headers=headers) as (made, upstream):
        (await made.open(b"{}", KEY)).close()
        (await made.open(b"{}", None)).close()
        with_key, without = upstream.requests
    assert (with_key.header("user-agent"), with_key.header("x-team")) == (["mine/1"], ["blue"])
    assert with_key.header("authorization") == [f"Bearer {KEY.reveal()}"]
    assert without.header("authorization") == ["Basic other"]


async def test_an_unreachable_provider_is_named_with_its_address() -> None:
    async with executor((CLOSE,)) as (made, upstream):
        with pytest.raises(Failure) as caught:
            await made.open(b"{}", KEY)
        assert caught.value.message == (f"Provider 'up' ({upstream.url}/v1) closed the connection before it answered.")


NO_LIST = "answered GET /models with no list of models."


@pytest.mark.parametrize(
    ("script", "models"),
    [
        ((answer(200, b'{"object":"list","data":[{"id":"a"},{"id":"b","x":1}]}'),), ["a", "b"]),
        ((answer(200, b'{"data":[{"id":"a"},{"id":7},"b",{}]}'),), ["a"]),
        ((answer(200, b'{"data":[]}'),), []),
        ((answer(200, b'{"data":null}'),), NO_LIST),
        ((answer(200, b"[]"),), NO_LIST),
        ((answer(200, b"<html>"),), NO_LIST),
        ((answer(200, b""),), NO_LIST),
        ((answer(404, b"{}"),), "answered GET /models with HTTP 404."),
        ((answer(301, b"", "location: /v2/models"),), "answered GET /models with HTTP 301."),
        ((CLOSE,), "closed the connection before it answered."),
        ((STALL,), "did not answer GET /models within 1 seconds."),
        ((OK, chunk(b'{"data":['), STALL), "did not answer GET /models within 1 seconds."),
    ],
    ids=["list", "odd_rows", "empty", "null", "array", "html", "blank", "404", "301", "closed", "no_head", "half"],
)
async def test_a_model_list_is_a_list_of_ids_or_has_a_reason(
    script: Script, models: list[str] | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = STALL in script
    monkeypatch.setattr(openai_compat, "LIST_TIMEOUT", 1.0 if silent else LIMIT)
    async with executor(script, api_keys=(KEY,)) as (made, upstream):
        found: list[str] | str
        try:
            found = await asyncio.wait_for(made.list_models(), LIMIT)
        except Failure as failure:
            found = failure.message.removeprefix(f"Provider 'up' ({upstream.url}/v1) ")
        assert found == models
        (request,) = upstream.requests
        assert (request.line, request.header("authorization")) == (
            "GET /v1/models HTTP/1.1",
            [f"Bearer {KEY.reveal()}"],
        )
