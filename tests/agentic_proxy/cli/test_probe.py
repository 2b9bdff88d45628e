"""Questions to servers on this machine are short and strict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from agentic_proxy.cli import probe
from agentic_proxy.cli.probe import get, list_models

SECONDS = 30.0


@asynccontextmanager
async def server(handler: object) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/v1/models", handler)  # type: ignore[arg-type]
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield "http://{}:{}/v1".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


def answering(text: str, status: int = 200, **headers: str) -> object:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=text, status=status, headers=headers)

    return handler


async def test_the_names_of_a_list_are_returned() -> None:
    async with server(answering('{"object":"list","data":[{"id":"a"},{"id":"b/c"}],"models":[]}')) as url:
        assert await list_models(url, SECONDS) == ["a", "b/c"]


@pytest.mark.parametrize(
    "handler",
    [
        answering("<html>"),
        answering("[]"),
        answering('{"data":{}}'),
        answering('{"data":[{"name":"a"}]}'),
        answering('{"data":[]}', 404),
        answering("", 302, Location="/v1/models?x"),
    ],
)
async def test_anything_else_is_no_model_server(handler: object) -> None:
    async with server(handler) as url:
        assert await list_models(url, SECONDS) is None


async def test_a_server_that_is_slow_or_absent_is_none(unused_tcp_port: int) -> None:
    async def silent(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async with server(silent) as url:
        assert await list_models(url, 0.05) is None
    assert await list_models(f"http://127.0.0.1:{unused_tcp_port}/v1", SECONDS) is None


async def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LIMIT", 10)
    async with server(answering('{"data":[{"id":"a"}]}')) as url:
        assert await list_models(url, SECONDS) is None


async def test_a_token_goes_along_and_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=request.headers.get("Authorization", "-"))

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with server(echo) as url:
        assert await get(f"{url}/models", SECONDS, "t") == b"Bearer t"
        assert await get(f"{url}/models", SECONDS) == b"-"
