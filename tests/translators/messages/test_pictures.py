"""The size of a picture, and its tokens."""

from __future__ import annotations

import base64
import struct

import pytest

from translators.messages.pictures import is_larger, picture_tokens, size_of

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1200, 800)
GIF = b"GIF89a" + struct.pack("<HH", 1200, 800)
JPEG = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"x" * 14 + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 800, 1200)
WEBP = b"RIFF\0\0\0\0WEBP"
EXTENDED = WEBP + b"VP8X" + b"\0" * 8 + (1199).to_bytes(3, "little") + (799).to_bytes(3, "little")
LOSSY = WEBP + b"VP8 " + b"\0" * 10 + struct.pack("<HH", 1200, 800)
LOSSLESS = WEBP + b"VP8L" + b"\0" * 5 + (1199 | 799 << 14).to_bytes(4, "little")


def url(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, EXTENDED, LOSSY, LOSSLESS])
def test_every_format_says_its_size_near_its_beginning(data: bytes) -> None:
    assert size_of(data) == (1200, 800)
    assert picture_tokens(url(data)) == 1280


@pytest.mark.parametrize("data", [b"", b"BM", PNG[:18], JPEG[:8], b"\xff\xd8\xff\xda\0\1", GIF[:7], WEBP + b"VP9 "])
def test_what_is_no_picture_or_ends_early_has_none(data: bytes) -> None:
    assert size_of(data) is None
    assert picture_tokens(url(data)) is None


@pytest.mark.parametrize("given", [None, 7, "https://x/y.png", "data:image/png;base64,%%%", "data:,x"])
def test_what_cannot_be_seen_has_no_tokens(given: object) -> None:
    assert picture_tokens(given) is None


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(1, 1, 1), (200, 200, 53), (1568, 1568, 1600), (15_680, 100, 21)]
)
def test_a_large_one_is_made_smaller_first(width: int, height: int, tokens: int) -> None:
    assert picture_tokens(url(b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height))) == tokens


@pytest.mark.parametrize(
    ("given", "side", "length", "larger"),
    [
        (url(PNG), 1200, None, False),
        (url(PNG), 1199, None, True),
        (url(PNG), None, 10, True),
        (url(PNG), 1200, 1000, False),
        (url(PNG), None, None, False),
        ("https://x/y.png", 1, 1, False),
        (url(b"BM"), 1, None, False),
        (None, 1, 1, False),
    ],
)
def test_a_picture_is_larger_by_its_longer_side_or_by_its_length(
    given: object, side: int | None, length: int | None, larger: bool
) -> None:
    assert is_larger(given, side=side, length=length) is larger
