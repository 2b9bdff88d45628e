"""WebSocket text frames: one JSON event each, many of them in one write.

RFC 6455 framing of a server's text frames is a few bytes of length; writing them here lets a socket read's worth of
events leave in one write. They are never compressed, which permessage-deflate allows per message.
"""

from __future__ import annotations

import orjson

_SMALL = 4096


def _head(size: int) -> bytes:
    """What comes before the payload of one final, unmasked text frame."""
    if size < 126:
        return bytes((0x81, size))
    if size < 1 << 16:
        return b"\x81\x7e" + size.to_bytes(2)
    return b"\x81\x7f" + size.to_bytes(8)


_HEADS = tuple(map(_head, range(_SMALL)))
"""Ready for the sizes that nearly all events have."""


def text_frame(payload: bytes) -> bytes:
    """One final, unmasked text frame. ``payload`` is UTF-8."""
    return _head(len(payload)) + payload


def events_to_frames(sse: bytes, stream_id: str | None) -> bytes:
    """The events of encoded SSE bytes as text frames; ``[DONE]`` is no event. A named stream's id is put into each."""
    mark = b',"stream_id":' + orjson.dumps(stream_id) + b"}" if stream_id is not None else b""
    out: list[bytes] = []
    for frame in sse.split(b"\n\n"):
        at = frame.find(b"data: {")
        if at < 0:
            continue
        payload = frame[at + 6 :]
        if mark:
            payload = payload[:-1] + mark
        size = len(payload)
        out += (_HEADS[size] if size < _SMALL else _head(size), payload)
    return b"".join(out)
