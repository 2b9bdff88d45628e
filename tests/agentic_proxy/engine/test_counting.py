"""Whose count of a Messages request a client gets."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Model
from agentic_proxy.engine import counting
from agentic_proxy.engine.lessons import unspoken
from agentic_proxy.routing.models import Target
from support.engines import provider, running_engine
from support.raw_upstream import CLOSE, LIMIT, STALL, RawUpstream, answer
from translators import envelope
from translators.failure import Failure
from translators.messages.count import count_tokens

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "word " * 50}]}
ESTIMATE = count_tokens(BODY)


async def test_an_upstream_that_speaks_messages_counts_itself_with_its_own_key_and_name() -> None:
    async with (
        RawUpstream((answer(200, b'{"input_tokens":77}'),)) as upstream,
        running_engine(provider("up", upstream.url, "messages", models=(Model("theirs", alias=("m",)),))) as engine,
    ):
        assert await engine.counting.count(BODY, ("effort-2025-11-24",)) == 77
    (asked,) = upstream.requests
    assert asked.line == "POST /v1/messages/count_tokens HTTP/1.1"
    assert (asked.header("x-api-key"), asked.header("anthropic-beta")) == (
        ["sk-upstream-key-of-a-test"],
        ["effort-2025-11-24"],
    )
    assert orjson.loads(asked.body) == {**BODY, "model": "theirs"}


@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_another_upstream_is_not_asked(wire: str) -> None:
    async with RawUpstream((CLOSE,)) as upstream, running_engine(provider("up", upstream.url, wire)) as engine:
        assert await engine.counting.count(BODY) == ESTIMATE
    assert upstream.requests == []


async def test_an_upstream_of_several_wires_that_is_known_not_to_speak_this_one_is_not_asked() -> None:
    async with RawUpstream((answer(200, b'{"input_tokens":77}'),)) as upstream:
        url = f"{upstream.url}/v1"
        entry = replace(provider("up", upstream.url, "chat"), wire="auto", by_client={"chat": url, "messages": url})
        async with running_engine(entry) as engine:
            assert await engine.counting.count(BODY) == 77
            engine.lessons.learn(Target(engine.config.providers[0], None, "m"), [unspoken("messages")])
            assert await engine.counting.count(BODY) == ESTIMATE
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_upstream_that_does_not_count_is_asked_once(status: int) -> None:
    async with (
        RawUpstream((answer(status, b"{}"),)) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        assert [await engine.counting.count(BODY) for _ in range(2)] == [ESTIMATE] * 2
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "script",
    [
        (answer(400, b"{}"),),
        (answer(529, b"{}"),),
        (answer(200, b"<html>"),),
        (answer(200, b'{"input_tokens":"7"}'),),
        (answer(200, b'{"input_tokens":true}'),),
        (answer(200, b"[]"),),
        (CLOSE,),
        (STALL,),
    ],
)
async def test_an_upstream_that_fails_costs_an_estimate_and_is_asked_again(
    script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "SECONDS", 1.0 if STALL in script else LIMIT)
    async with (
        RawUpstream(script) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        assert [await engine.counting.count(BODY) for _ in range(2)] == [ESTIMATE] * 2
    assert len(upstream.requests) == 2


async def test_a_thought_that_the_proxy_sealed_goes_up_as_its_upstream_signed_it() -> None:
    block = {"type": "thinking", "thinking": "t", "signature": "theirs"}
    async with (
        RawUpstream((answer(200, b'{"input_tokens":9}'),)) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        payload = orjson.dumps({"p": "up", "raw": orjson.dumps(block).decode()})
        seal = envelope.seal(engine.key, envelope.REASONING, payload)
        said = {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": seal}]}
        assert await engine.counting.count({**BODY, "messages": [*BODY["messages"], said]}) == 9
    assert orjson.loads(upstream.requests[0].body)["messages"][1]["content"] == [block]


async def test_a_name_that_nobody_has_is_estimated_and_a_request_of_the_wrong_shape_refused() -> None:
    async with running_engine(provider("up", "http://127.0.0.1:9", "messages")) as engine:
        assert await engine.counting.count({**BODY, "model": "nobody's"}) == ESTIMATE
        with pytest.raises(Failure) as refused:
            await engine.counting.count({"model": "m"})
    assert (refused.value.code, refused.value.param) == ("invalid_request_error", "messages")


@pytest.mark.parametrize("name", ["m", "nobody/has"])
async def test_words_are_counted_beside_the_event_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where: list[int] = []

    def counted(body: dict[str, Any], model: str | None = None) -> int:
        where.append(threading.get_ident())
        return 7

    monkeypatch.setattr(counting, "count_tokens", counted)
    async with running_engine(provider("up", "http://127.0.0.1:9", "chat")) as engine:
        assert await engine.counting.count({**BODY, "model": name}) == 7
    assert threading.get_ident() not in where
