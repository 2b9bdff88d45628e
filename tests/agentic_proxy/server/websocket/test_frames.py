"""Text frames as RFC 6455 has them, and which events become one."""

from __future__ import annotations

import json

import pytest

from agentic_proxy.server.websocket.frames import events_to_frames, text_frame


def payloads(frames: bytes) -> list[bytes]:
    """The payloads of unmasked, final text frames."""
    found = []
    while frames:
        assert frames[0] == 0x81
        size, start = frames[1], 2
        if size > 125:
            start = 4 if size == 126 else 10
            size = int.from_bytes(frames[2:start])
        found.append(frames[start : start + size])
        assert len(found[-1]) == size
        frames = frames[start + size :]
    return found


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (65535, b"\x81\x7e\xff\xff"),
        (65536, b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ],
)
def test_a_frame_has_the_shortest_length_that_fits(size: int, head: bytes) -> None:
    assert text_frame(b"x" * size) == head + b"x" * size


def test_every_event_is_a_frame_and_the_end_marker_of_a_stream_is_none() -> None:
    sse = b'event: a\ndata: {"type":"a","n":"x"}\n\nevent: b\ndata: {"type":"b"}\n\ndata: [DONE]\n\n'
    assert payloads(events_to_frames(sse, None)) == [b'{"type":"a","n":"x"}', b'{"type":"b"}']


@pytest.mark.parametrize("sse", [b"", b"data: [DONE]\n\n", b": comment\n\n"])
def test_without_an_event_there_is_no_frame(sse: bytes) -> None:
    assert events_to_frames(sse, "a") == b""


def test_the_events_of_a_named_stream_say_whose_they_are() -> None:
    sse = b'event: a\ndata: {"type":"a","d":"data: {"}\n\nevent: b\ndata: {"type":"b"}\n\n'
    found = [json.loads(payload) for payload in payloads(events_to_frames(sse, "x-1"))]
    assert found == [{"type": "a", "d": "data: {", "stream_id": "x-1"}, {"type": "b", "stream_id": "x-1"}]


def test_many_events_keep_their_order_in_one_write() -> None:
    events = [b'{"type":"a","n":%d,"x":"%b"}' % (number, b"x" * number) for number in range(200)]
    assert payloads(events_to_frames(b"".join(b"event: a\ndata: %b\n\n" % event for event in events), None)) == events
