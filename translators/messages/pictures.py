"""How many tokens a picture is: by its width and height, which stand near the beginning of the file."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Final

__all__ = ["is_larger", "picture_tokens", "size_of"]

PIXELS_PER_TOKEN: Final = 750
LONGEST: Final = 1568
"""Pixels of the longer side; larger pictures are made smaller (Anthropic's documentation)."""
MOST: Final = 1600
"""Tokens of a picture at most, with what is written around it."""
HEAD: Final = 256 << 10
"""Characters of base64 that are read: a JPEG may hold a preview before its own size."""


def picture_tokens(url: object) -> int | None:
    """The tokens of a ``data:`` URL's picture; None where its size cannot be seen."""
    size = _size(url)
    if size is None or not all(size):
        return None
    width, height = size
    shrunk = min(1.0, LONGEST / max(size))
    return max(1, min(MOST, round(width * shrunk * height * shrunk / PIXELS_PER_TOKEN)))


def is_larger(url: object, *, side: int | None, length: int | None) -> bool:
    """Whether a ``data:`` URL's picture has a longer side, in pixels, or more characters of base64 than these."""
    if length is not None and isinstance(url, str) and url.startswith("data:") and len(url) > length:
        return True
    size = None if side is None else _size(url)
    return size is not None and side is not None and max(size) > side


def _size(url: object) -> tuple[int, int] | None:
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    data = url.partition("base64,")[2][:HEAD]
    try:
        return size_of(base64.b64decode(data[: len(data) // 4 * 4]))
    except (binascii.Error, ValueError):
        return None


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG from its beginning; None for anything else."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return struct.unpack("<HH", data[6:10])
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except (struct.error, IndexError):
        pass
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size stands in the first frame header, behind segments that say how long they are."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None
