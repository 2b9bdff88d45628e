"""WebSocket text frames: one JSON event each, many of them in one write.

RFC 6455 framing of a server's text frames is a few bytes of length; writing them here lets a socket read's worth of
events leave in one write. They are never compressed, which permessage-deflate allows per message.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

_TEXT = b"\x81"


def text_frame(payload: bytes) -> bytes:
    """One final, unmasked text frame. ``payload`` is UTF-8."""
    size = len(payload)
    if size < 126:
        return b"%b%c%b" % (_TEXT, size, payload)
    if size < 1 << 16:
        return b"%b\x7e%b%b" % (_TEXT, size.to_bytes(2), payload)
    return b"%b\x7f%b%b" % (_TEXT, size.to_bytes(8), payload)


def events_to_frames(sse: bytes, stream_id: str | None) -> bytes:
    """The events of encoded SSE bytes as text frames; ``[DONE]`` is no event. A named stream's id is put into each."""
    mark = b',"stream_id":' + orjson.dumps(stream_id) + b"}" if stream_id is not None else b""
    return b"".join(text_frame(payload[:-1] + mark if mark else payload) for payload in _payloads(sse))


def _payloads(sse: bytes) -> Iterable[bytes]:
    for frame in sse.split(b"\n\n"):
        at = frame.find(b"data: {")
        if at >= 0:
            yield frame[at + 6 :]
