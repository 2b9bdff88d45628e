"""Server-Sent Events, both ways: bytes off a socket into complete frames, and frames back into bytes.

The decoder works on blocks, not on events: one socket read gives one block of complete frames, normalised so that
everything above it may split on ``\\n\\n``. Format: WHATWG HTML, "Server-sent events"; lines end in LF, CRLF or CR.
"""

from __future__ import annotations

from collections.abc import Iterator

from translators import surrogates
from translators.failure import Failure

__all__ = ["SseDecoder", "encode", "frames"]

BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"


class SseDecoder:
    """Cuts a byte stream at frame ends. ``max_line`` limits one frame, and so any line, in bytes.

    ``leftover`` is True after ``finish`` when the stream ended inside a frame.
    """

    def __init__(self, max_line: int) -> None:
        self.leftover = False
        self._max = max_line
        self._parts: list[bytes] = []
        self._held = 0
        self._ends_in_lf = False
        self._at_start = True
        self._head = b""
        self._swallow_lf = False

    def feed(self, data: bytes) -> bytes:
        """All frames that are complete now, with LF line ends and a blank line at the end; ``b""`` when there are none.

        Raises Failure ``upstream_too_large`` when a frame is longer than the limit.
        """
        if self._at_start:
            data = self._start(data)
        if self._swallow_lf and data:
            self._swallow_lf = False
            if data.startswith(b"\n"):
                data = data[1:]
        if b"\r" in data:
            self._swallow_lf = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = data.rfind(b"\n\n") + 2
        if end < 2:
            end = 1 if self._ends_in_lf and data.startswith(b"\n") else 0
        if not end:
            self._hold(data)
            return b""
        block = data[:end] if end < len(data) else data
        if self._parts:
            block = b"".join((*self._parts, block))
        if len(block) > self._max and any(len(frame) > self._max for frame in block.split(b"\n\n")):
            raise self._too_large()
        self._parts.clear()
        self._held = 0
        self._ends_in_lf = False
        if end < len(data):
            self._hold(data[end:])
        return block

    def finish(self) -> bytes:
        """What is left at EOF, terminated, when only the blank line is missing: its data is ``[DONE]`` or whole JSON.

        Otherwise ``b""``, and ``leftover`` says whether a frame was cut off.
        """
        rest = b"".join((self._head, *self._parts)).strip(b"\n")
        self._parts.clear()
        self._held = 0
        self._head = b""
        if not rest or all(line.startswith(b":") for line in rest.split(b"\n")):
            return b""
        block = rest + b"\n\n"
        for _, data in frames(block):
            if _is_whole(data):
                return block
        self.leftover = True
        return b""

    def _start(self, data: bytes) -> bytes:
        """Drop a byte order mark, which may come in pieces."""
        data = self._head + data
        if len(data) < len(BOM) and BOM.startswith(data):
            self._head = data
            return b""
        self._head = b""
        self._at_start = False
        return data.removeprefix(BOM)

    def _hold(self, data: bytes) -> None:
        if not data:
            return
        self._parts.append(data)
        self._held += len(data)
        self._ends_in_lf = data.endswith(b"\n")
        if self._held - self._ends_in_lf > self._max:
            raise self._too_large()

    def _too_large(self) -> Failure:
        self._parts.clear()
        limit = f"{self._max:,} bytes"
        return Failure("upstream_too_large", f"The upstream sent one event larger than the limit of {limit}.")


def frames(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(event name or ``b""``, data) of each frame in a block from ``SseDecoder``.

    Comments, ``id`` and ``retry`` are ignored, several data lines are joined by LF, and a frame without data is none. A
    line that is an object is data as well: gateways that fail behind a comment write their error without ``data:``.
    """
    for frame in block.split(b"\n\n"):
        if not frame:
            continue
        name = b""
        data: list[bytes] = []
        for line in frame.split(b"\n"):
            field, _, value = line.partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
            elif field == b"event":
                name = value.removeprefix(b" ")
            elif line.startswith(b"{"):
                data.append(line)
        joined = b"\n".join(data)
        if joined:
            yield name, joined


def encode(kind: bytes, data: bytes) -> bytes:
    """One frame with an event name. ``data`` must not hold a line end (JSON as orjson writes it never does)."""
    return b"event: " + kind + b"\ndata: " + data + b"\n\n"


def _is_whole(data: bytes) -> bool:
    if data.strip() == DONE:
        return True
    try:
        surrogates.loads(data)
    except ValueError:
        return False
    return True
