"""Client messages of every kind: a bad one is one error frame, and the connection stays usable."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
import structlog

from agentic_proxy.config.model import Limits
from support.engines import SMALL
from support.turns import Json, Say
from support.websocket import (
    DEADLINE,
    connected,
    final_text,
    gate,
    gated,
    masked,
    played,
    raw_socket,
    served,
    user,
    within,
)

TIGHT = replace(SMALL, ws_message=1024)
CREATE: Json = {"type": "response.create", "model": "m", "input": "hi"}


def padded(size: int, **fields: Any) -> str:
    """A request of exactly this many bytes."""
    empty = len(json.dumps({**CREATE, **fields, "metadata": {"x": ""}}))
    return json.dumps({**CREATE, **fields, "metadata": {"x": "x" * (size - empty)}})


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("", None),
        ("{", None),
        ("\ufeff{}", None),
        ("[]", None),
        ('"response.create"', None),
        ("null", None),
        ("{}", "type"),
        ({"type": None}, "type"),
        ({"type": 1, "model": "m", "input": "hi"}, "type"),
        ({"model": "m", "input": "hi"}, "type"),
        ({"type": "response.create", "response": {"model": "m", "input": "hi"}}, "input"),
        ({"type": "response.create", "input": "hi"}, "model"),
        ({"type": "response.create", "model": "m", "input": 1}, "input"),
        ({"type": "response.create", "model": "m", "input": ["hi"]}, "input[0]"),
        ({"type": "response.create", "model": "m", "input": "hi", "tools": [1]}, "tools[0]"),
    ],
    ids=repr,
)
async def test_a_malformed_message_is_refused_and_the_socket_stays_usable(message: Any, param: str | None) -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        frame = await client.error(message)
        assert (frame["status"], frame["error"]["code"]) == (400, "invalid_request_error")
        assert frame["error"]["param"] == param
        assert set(frame) == {"type", "status", "error"}
        assert upstream.requests == []
        assert final_text(await client.turn(input="hi")) == "ok"


@pytest.mark.requirement("WS17")
async def test_a_binary_message_is_refused_without_an_upstream_call() -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        await client.socket.send_bytes(json.dumps(CREATE).encode())
        frame = await client.event()
        assert (frame["status"], frame["error"]["code"]) == (400, "invalid_request_error")
        assert frame["error"]["message"] == "Messages must be JSON text frames."
        assert upstream.requests == []
        assert final_text(await client.turn(input="hi")) == "ok"


async def test_text_that_is_not_utf_8_is_refused_and_the_socket_stays_usable() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        await client.socket.send_frame(b'{"type":"\xff"}', aiohttp.WSMsgType.TEXT)
        assert (await client.event())["status"] == 400
        assert final_text(await client.turn(input="hi")) == "ok"


async def test_unknown_client_events_are_ignored_and_noted_once() -> None:
    with structlog.testing.capture_logs() as lines:
        async with connected(played(Say("ok"))) as (client, _, _):
            for kind in ("response.processed", "session.update", "response.processed"):
                await client.send({"type": kind, "x": 1})
            assert final_text(await client.turn(input="hi")) == "ok"
    assert [line["kind"] for line in lines if line["event"] == "client_event_ignored"] == [
        "response.processed", "session.update"
    ]  # fmt: skip


async def test_what_is_to_be_added_to_a_running_response_comes_back_in_the_lane_of_that_response() -> None:
    async with connected(gated("half and half")) as (client, _, upstream):
        proceed = gate(upstream)
        await client.send({**CREATE, "stream_id": "a"})
        running = (await client.until("response.created"))[-1]["response"]["id"]
        more = [{"role": "user", "content": "and this"}]
        for target, lane in ((running, {"stream_id": "a"}), ("resp_other", {})):
            await client.send({"type": "response.steer", "previous_response_id": target, "input": more})
            event = (await client.until("response.steer.failed"))[-1]
            assert event.pop("error")["code"] == "steering_not_supported"
            assert event == {
                "type": "response.steer.failed",
                "sequence_number": 0,
                "steer": {"previous_response_id": target, "input": more},
                **lane,
            }
        proceed.set()
        assert final_text(await client.until("response.completed")) == "half and half"


async def test_the_log_does_not_grow_with_every_new_name_of_an_event() -> None:
    with structlog.testing.capture_logs() as lines:
        async with connected(played(Say("ok"))) as (client, _, _):
            for number in range(100):
                await client.send({"type": f"kind.{number}" + "x" * 100})
            await client.turn(input="hi")
    noted = [line for line in lines if line["event"] == "client_event_ignored"]
    assert (len(noted), max(len(line["kind"]) for line in noted)) == (16, 64)


@pytest.mark.requirement("WS23")
@pytest.mark.requirement("WS18")
@pytest.mark.requirement("R17")
@pytest.mark.parametrize("size", [1025, 2048, 2049, 50_000])
@pytest.mark.parametrize("compress", [0, 15])
async def test_a_message_above_the_limit_is_told_the_limit_and_the_socket_closes(size: int, compress: int) -> None:
    async with served(played(Say("ok")), limits=TIGHT) as (server, upstream):
        async with server.client(compress=compress) as client:
            frame = await client.error(padded(size))
            assert (frame["status"], frame["error"]["code"]) == (400, "body_too_large")
            assert frame["error"]["message"] == "A message must not be larger than 1,024 bytes (limits.ws_message)."
            assert await client.closed() == 1009
        async with server.client(compress=compress) as client:
            assert upstream.requests == []
            await client.send(padded(1024))
            assert final_text(await client.until("response.completed", "error")) == "ok"


@pytest.mark.requirement("WS23")
async def test_the_limit_can_be_raised_above_what_libraries_take() -> None:
    # Screenshots: 4 MiB is aiohttp's own limit, 16 MiB that of others.
    async with connected(played(Say("ok")), limits=Limits()) as (client, _, upstream):
        image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * (20 << 20)}
        assert final_text(await client.turn(input=[user("look"), {"role": "user", "content": [image]}])) == "ok"
        assert len(upstream.requests[0].body) > 20 << 20


@pytest.mark.requirement("WS19")
async def test_a_ping_is_answered_with_its_payload_also_while_a_response_streams() -> None:
    async with served(gated("slow")) as (server, upstream), server.client(autoping=False) as client:
        await client.socket.ping(b"idle")
        message = await client.receive()
        assert (message.type, message.data, upstream.requests) == (aiohttp.WSMsgType.PONG, b"idle", [])
        opened = gate(upstream)
        await client.create(input="hi")
        await client.until("response.output_text.delta")
        await client.socket.ping(b"busy")
        message = await client.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"busy")
        opened.set()
        assert final_text(await client.until("response.completed")) == "slow"


async def test_compression_is_agreed_on_and_compressed_messages_are_understood() -> None:
    async with served(played(Say("ok"))) as (server, upstream), server.client(compress=15) as client:
        assert client.socket.compress == 15
        for _ in range(3):  # with the context of the messages before
            assert final_text(await client.turn(input="hi " * 500, store=False)) == "ok"
        assert len(upstream.requests) == 3


async def test_a_message_in_fragments_around_a_ping_is_one_message() -> None:
    async with served(played(Say("ok"))) as (server, upstream):
        reader, writer = await raw_socket(server)
        text = json.dumps(CREATE).encode()
        writer.write(masked(text[:9], 0x01) + masked(b"p", 0x89) + masked(text[9:20], 0x00) + masked(text[20:], 0x80))
        assert await reader.readexactly(3) == b"\x8a\x01p"
        await upstream.until(lambda up: len(up.requests) == 1)
        writer.close()
        await writer.wait_closed()


async def test_an_idle_socket_outlives_the_limit_for_idle_http_connections() -> None:
    async with served(played(Say("ok")), keepalive=1.0) as (server, _), server.client() as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert b"200 OK" in await within(DEADLINE, reader.read())  # to the end: the limit has passed
        writer.close()
        await writer.wait_closed()
        assert final_text(await client.turn(input="hi")) == "ok"
