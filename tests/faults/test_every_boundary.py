"""An upstream's stream that ends behind any of its frames: a good end only where the response had closed properly, for
every client format, over every wire."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from faults.test_matrix_clients import PATHS, request
from support.breaks import CALL, TEXT, stream
from support.engines import PATIENT, SMALL, body
from support.raw_upstream import LAST, RESET, End
from support.readers import read_chat, read_messages
from support.websocket import TERMINALS, Served, connected, served

ENDED = {"responses": b"response.completed", "chat": b'"finish_reason": "', "messages": b'"stop_reason":"'}
"""What the frame holds from which on the end of the body is the end of a good response."""
STREAMS = {"text": TEXT, "call": CALL}


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


def boundaries(wire: str, kind: str) -> list[tuple[bytes, bool]]:
    """Every beginning of a stream, and whether it is a whole response."""
    frames = STREAMS[kind][wire]
    return [
        (b"".join(frames[:count]), any(ENDED[wire] in frame for frame in frames[:count]))
        for count in range(len(frames) + 1)
    ]


async def _answer(response: aiohttp.ClientResponse) -> tuple[int, bytes]:
    return response.status, await response.read()


async def blocking(client: str, server: Served) -> tuple[bool, bool]:
    status, data = await _answer(await _post(client, server, streaming=False))
    found = json.loads(data)
    assert (status == 200) == (not found.get("error"))
    return status == 200, any(sign in data for sign in (b'"type":"function_call"', b'"tool_calls"', b'"tool_use","id"'))


async def streaming(client: str, server: Served) -> tuple[bool, bool]:
    status, data = await _answer(await _post(client, server, streaming=True))
    if status != 200:
        return False, False
    if client == "responses":
        last = json.loads(data.removesuffix(b"data: [DONE]\n\n").split(b"data: ")[-1])
        return last["type"] == "response.completed", b"function_call_arguments.done" in data
    read = read_chat(data) if client == "chat" else read_messages(data)
    return read.error is None, any(call["whole"] for call in read.calls) and read.error is None


async def _post(client: str, server: Served, *, streaming: bool) -> aiohttp.ClientResponse:
    if client == "responses":
        return await server.session.post(f"{server.url}/v1/responses", json=body(stream=streaming, store=False))
    return await server.session.post(server.url + PATHS[client], json=request(client, streaming=streaming))


@pytest.mark.parametrize("end", [LAST, RESET], ids=["end", "reset"])
@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("wire", TEXT)
@pytest.mark.parametrize("client", ["responses", *PATHS])
@pytest.mark.parametrize("ask", [blocking, streaming])
@pytest.mark.requirement("P1", "P2", "R2")
async def test_only_a_closed_response_ends_well(
    ask: Callable[[str, Served], Awaitable[tuple[bool, bool]]], client: str, wire: str, kind: str, end: bytes | End
) -> None:
    cases = boundaries(wire, kind)
    # A reset may overtake the bytes before it: behind a whole response it decides nothing.
    cases = [case for case in cases if end is LAST or not case[1]]
    assert {good for _, good in cases} == ({True, False} if end is LAST else {False})
    scripts = [stream(begin, end) if begin else stream(b": nothing\n\n", end) for begin, _ in cases]
    async with served(*scripts, wire=wire, timeouts=PATIENT, limits=SMALL) as (server, upstream):
        for number, (begin, good) in enumerate(cases):
            ended_well, runs = await ask(client, server)
            assert ended_well is good, begin
            assert runs is (good and kind == "call"), begin
            codes = [record.code for record in server.engine.usage.records]
            assert len(codes) == number + 1
            assert (codes[-1] is None) is good
        assert len(upstream.requests) == len(cases)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("wire", TEXT)
@pytest.mark.requirement("P1", "P2", "R2")
async def test_only_a_closed_response_ends_well_over_a_websocket(wire: str, kind: str) -> None:
    cases = boundaries(wire, kind)
    scripts = [stream(begin, LAST) if begin else stream(b": nothing\n\n", LAST) for begin, _ in cases]
    async with connected(*scripts, wire=wire, timeouts=PATIENT, limits=SMALL) as (client, server, _):
        for begin, good in cases:
            await client.create(**{**body(), "model": "m", "store": False})
            events = await client.until(*TERMINALS)
            assert (events[-1]["type"] == "response.completed") is good, begin
            released = any(event["type"] == "response.function_call_arguments.done" for event in events)
            assert released is (good and kind == "call"), begin
        assert len(server.engine.usage.records) == len(cases)
