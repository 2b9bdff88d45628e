"""One model request of any client format: what reaches the engine and what comes back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Models
from support.http_server import running
from support.streams import public
from translators.failure import Failure

FORMATS = pytest.mark.parametrize(
    ("path", "client"), [("/v1/chat/completions", "chat"), ("/v1/messages?beta=true", "messages")]
)
USER: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


def body(**fields: Any) -> bytes:
    return orjson.dumps({"model": "m", "max_tokens": 9, **USER, **fields})


async def finished(request: Any, sink: Any) -> dict[str, Any]:
    return public().object("completed", [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}])


async def refused(request: Any, sink: Any) -> dict[str, Any]:
    raise Failure("rate_limit_exceeded", "Too fast.", retry_after=2)


async def broken(request: Any, sink: Any) -> dict[str, Any]:
    raise RuntimeError("a bug")


@FORMATS
async def test_the_engine_gets_a_hub_request_and_the_clients_own_body(path: str, client: str) -> None:
    async with running() as server:
        answer = await server.post(body(stream=True, novel=1), path=path)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        (request,) = server.engine.requests
    assert (request.client, request.stream, request.original["novel"]) == (client, True, 1)
    assert request.body["input"] == [{"type": "message", "role": "user", "content": "hi"}]
    assert request.body["store"] is False
    assert [note.path for note in request.notes] == ["novel"]


@FORMATS
async def test_without_a_stream_the_answer_is_one_object_of_the_clients_format(path: str, client: str) -> None:
    async with running(turn=finished) as server:
        answer = await server.post(body(), path=path)
    made = orjson.loads(answer.body)
    assert answer.status == 200
    if client == "chat":
        assert made["choices"][0]["message"]["content"] == "hello"
    else:
        assert made["content"] == [{"type": "text", "text": "hello"}]


@FORMATS
async def test_a_request_without_a_model_gets_the_default_one(path: str, client: str) -> None:
    without = orjson.dumps({"max_tokens": 9, **USER, "stream": True})
    async with running(Config(models=Models(default="kimi/k3"))) as server:
        assert (await server.post(without, path=path)).status == 200
        assert server.engine.requests[0].body["model"] == "kimi/k3"
    async with running() as server:
        assert (await server.post(without, path=path)).status == 400


@FORMATS
@pytest.mark.parametrize(
    ("turn", "status", "kind"), [(refused, 429, "rate_limit_error"), (broken, 500, None)], ids=["refused", "broken"]
)
async def test_a_failure_speaks_the_clients_format(path: str, client: str, turn: Any, status: int, kind: Any) -> None:
    async with running(turn=turn) as server:
        answer = await server.post(body(), path=path)
    made = orjson.loads(answer.body)
    assert answer.status == status
    assert ("type" in made) == (client == "messages"), "only that envelope has a type of its own"
    assert kind is None or made["error"]["type"] == kind
