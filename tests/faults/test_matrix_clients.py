"""The fault matrix for Chat and Messages clients, through the whole server: one right ending in each format's own form.

A client that takes no stream, or has seen nothing yet, gets an HTTP status and its format's error; afterwards a stream
ends in one error event. The strict readers check what holds for every stream.
"""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from agentic_proxy.engine import attempts
from faults.matrix import FAULTS, Fault
from support.deadlines import let_pass
from support.engines import SMALL, eventually, kept
from support.raw_upstream import LIMIT
from support.readers import Read, read_chat, read_messages
from support.turns import Json
from support.websocket import served
from translators.failure import ROWS
from translators.messages.errors import BY_CODE, TYPES

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages"}
MARKS = {
    b"response.in_progress": {"chat": b'"role":', "messages": b"message_start"},
    # What completes a call is held until the close, so these clients have seen the beginning.
    b"arguments.delta": {"chat": b'"role":', "messages": b"message_start"},
    b"partial text": {"chat": b"partial text", "messages": b"partial text"},
}
"""What the scripts wait for, as these clients are shown it."""
TOOL: Json = {"name": "run", "description": "Runs.", "parameters": {"type": "object", "properties": {}}}
CASES = [
    pytest.param(fault, wire, client, streaming, id=f"{fault.name}-{wire}-{client}-{'sse' if streaming else 'json'}")
    for fault in FAULTS
    for wire in fault.scripts
    for client in PATHS
    for streaming in (True, False)
]


@pytest.fixture(autouse=True)
def quick(no_pauses: None) -> None: ...


def request(client: str, *, streaming: bool) -> Json:
    """A small request with one tool."""
    body: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": streaming}
    if client == "chat":
        return {**body, "tools": [{"type": "function", "function": TOOL}]}
    tool = {"name": "run", "description": "Runs.", "input_schema": TOOL["parameters"]}
    return {**body, "max_tokens": 99, "tools": [tool]}


def check_refusal(fault: Fault, client: str, status: int, body: Json) -> None:
    """An HTTP answer: the status of the matrix, and the format's own error object."""
    assert fault.record is not None
    error = body["error"]
    assert status == fault.status
    assert error["message"] and "SECRET" not in str(body)
    if client == "chat":
        assert error["code"] == fault.code
    else:
        usual = "api_error" if status >= 500 else "invalid_request_error"
        assert (body["type"], error["type"]) == ("error", TYPES.get(status, usual))
        assert body["request_id"]


def check_stream(fault: Fault, client: str, data: bytes) -> None:
    """A whole stream, or one that ends in the one error event."""
    read: Read = read_chat(data) if client == "chat" else read_messages(data)
    assert b"SECRET" not in data
    if fault.record is None:
        assert read.error is None and (read.text == "partial text" or read.calls)
        return
    assert read.error is not None and fault.streamed is not None
    assert not any(call["whole"] and read.ending for call in read.calls)
    if client == "chat":
        assert read.error["code"] == fault.streamed
    else:
        assert read.error["type"] == BY_CODE.get(fault.streamed, "api_error")


@pytest.mark.parametrize(("fault", "wire", "client", "streaming"), CASES)
@pytest.mark.requirement("P1", "R1", "R7", "R9")
async def test_a_fault_ends_as_the_matrix_says(
    fault: Fault, wire: str, client: str, streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "CLOSE_GRACE", fault.grace)
    async with served(fault.scripts[wire], wire=wire, limits=SMALL) as (server, upstream):
        upstream.silent = let_pass if fault.gives_up else None
        shown = bytearray()

        async def seen(marker: bytes) -> None:
            await eventually(lambda: MARKS[marker][client] in shown)

        upstream.seen = seen if streaming else None
        async with asyncio.timeout(LIMIT):
            answer = await server.session.post(
                server.url + PATHS[client], json=request(client, streaming=streaming)
            )
            async for chunk in answer.content.iter_any():
                shown += chunk
        if answer.status != 200:
            check_refusal(fault, client, answer.status, await _json(answer, bytes(shown)))
        elif streaming:
            assert answer.content_type == "text/event-stream"
            check_stream(fault, client, bytes(shown))
        else:
            assert fault.record is None and (await _json(answer, bytes(shown))).get("error") is None
        assert (answer.status == 200) == (fault.record is None or (streaming and fault.streamed is not None))
        assert len(upstream.requests) == fault.attempts
        assert [record.code for record in server.engine.usage.records] == [fault.record] * fault.attempts
        row = ROWS[fault.record] if fault.record is not None else None
        out = [each["code"] for each in server.engine.outages.listing(server.engine.config.providers)]
        assert out == ([fault.record] if row is not None and row.blames else [])
        assert set((await kept(server.engine)).values()) <= {"completed"}
        if not fault.kept:
            await upstream.until(lambda each: not each.open)


async def _json(answer: aiohttp.ClientResponse, data: bytes) -> Json:


    assert answer.content_type == "application/json"
    found = json.loads(data)
    assert isinstance(found, dict)
    return found
