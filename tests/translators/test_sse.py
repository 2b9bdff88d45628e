"""SSE framing: ugly but legal inputs give the same frames however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.failure import Failure
from translators.sse import SseDecoder, encode, frames

BOM = b"\xef\xbb\xbf"
CASES: dict[str, tuple[bytes, list[tuple[bytes, bytes]]]] = {
    "plain": (b"data: 1\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")]),
    "named": (b"event: ping\ndata: {}\n\n", [(b"ping", b"{}")]),
    "no space after the colon": (b"event:ping\ndata:1\n\n", [(b"ping", b"1")]),
    "only one space belongs to the field": (b"data:  1\n\n", [(b"", b" 1")]),
    "CRLF": (b"data: 1\r\n\r\ndata: 2\r\n\r\n", [(b"", b"1"), (b"", b"2")]),
    "CR": (b"data: 1\r\rdata: 2\r\r", [(b"", b"1"), (b"", b"2")]),
    "mixed line ends": (b"data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n", [(b"", b"1"), (b"", b"2"), (b"", b"3")]),
    "byte order mark": (BOM + b"data: 1\n\n", [(b"", b"1")]),
    "only the first mark is one": (BOM + BOM + b"data: 1\n\ndata: 2\n\n", [(b"", b"2")]),
    "comments": (b": hello\n\n:\n\ndata: 1\n: in between\ndata: 2\n\n", [(b"", b"1\n2")]),
    "several data lines": (b"data: {\ndata: }\n\n", [(b"", b"{\n}")]),
    "id and retry": (b"id: 7\nretry: 100\ndata: 1\n\n", [(b"", b"1")]),
    "a name without data is no frame": (b"event: ping\n\ndata: 1\n\n", [(b"", b"1")]),
    "empty data is no frame": (b"data\n\ndata:\n\ndata: 1\n\n", [(b"", b"1")]),
    "extra blank lines": (b"\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n\n", [(b"", b"1"), (b"", b"2")]),
    "multi-byte characters": ("data: 那🌍\n\n".encode(), [(b"", "那🌍".encode())]),
    "a field name with a prefix is another field": (b"mydata: 0\ndata: 1\n\n", [(b"", b"1")]),
    "whole JSON without the blank line": (b'data: 1\n\ndata: {"a":1}', [(b"", b"1"), (b"", b'{"a":1}')]),
    "whole JSON with one line end": (b'data: {"a":1}\r\n', [(b"", b'{"a":1}')]),
    "last marker without the blank line": (b"data: 1\n\ndata: [DONE]", [(b"", b"1"), (b"", b"[DONE]")]),
    "cut data is dropped": (b'data: 1\n\ndata: {"a":', [(b"", b"1")]),
    "cut half way through several lines": (b"data: 1\n\ndata: {\n", [(b"", b"1")]),
    "nothing": (b"", []),
}


def read(pieces: list[bytes], limit: int = 1 << 20) -> tuple[list[tuple[bytes, bytes]], bool]:
    decoder = SseDecoder(limit)
    found: list[tuple[bytes, bytes]] = []
    for piece in pieces:
        block = decoder.feed(piece)
        assert block == b"" or block.endswith(b"\n\n")
        assert b"\r" not in block
        found += frames(block)
    found += frames(decoder.finish())
    return found, decoder.leftover


def cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[i : i + size] for i in range(0, len(stream), size)]


@pytest.mark.parametrize("name", CASES)
def test_frames_are_the_same_whole_and_cut_into_pieces_of_any_size(name: str) -> None:
    stream, expected = CASES[name]
    for size in (max(len(stream), 1), 7, 3, 2, 1):
        found, leftover = read(cut(stream, size))
        assert found == expected
        assert leftover == name.startswith("cut")


def test_every_frame_comes_out_with_the_byte_that_completes_it() -> None:
    decoder = SseDecoder(100)
    assert decoder.feed(b"data: 1\r\n\r") == b"data: 1\n\n"
    assert decoder.feed(b"\ndata: 2\n") == b""
    assert decoder.feed(b"\ndata: 3\n\nda") == b"data: 2\n\ndata: 3\n\n"


def test_plain_input_leaves_as_the_same_object() -> None:
    block = b"data: 1\n\n"
    assert SseDecoder(100).feed(block) is block


@pytest.mark.parametrize("stream", [b"data: 123456\n\n", b"data: 123456", b": 1234567890\n\n", b"data: 1\ndata: 2\n\n"])
def test_a_frame_over_the_limit_is_refused_whole_and_per_byte(stream: bytes) -> None:
    for pieces in ([stream], cut(stream, 1)):
        with pytest.raises(Failure) as caught:
            read(pieces, limit=11)
        assert caught.value.code == "upstream_too_large"
        assert "11 bytes" in caught.value.message


def test_a_frame_of_exactly_the_limit_passes_among_many() -> None:
    stream = b"data: 12345\n\n" * 5
    for pieces in ([stream], cut(stream, 1)):
        assert read(pieces, limit=11) == ([(b"", b"12345")] * 5, False)


def test_a_line_of_two_mebibytes_in_small_reads_is_one_frame() -> None:
    stream = b"data: " + b"a" * (2 << 20) + b"\n\n"
    assert read(cut(stream, 16384), limit=4 << 20)[0] == [(b"", stream[6:-2])]


@pytest.mark.parametrize(
    ("rest", "leftover"),
    [(b": bye", False), (b"\n", False), (b"event: x\n", True), (b"\xef\xbb", True), (b"<html>", True)],
)
def test_what_is_left_at_the_end_counts_as_cut_only_when_it_began_a_frame(rest: bytes, leftover: bool) -> None:
    assert read([rest]) == ([], leftover)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_an_object_without_a_field_is_data(end: bytes) -> None:
    assert read([b": busy\n\nevent: error\n", b'{"a":1}' + end]) == ([(b"error", b'{"a":1}')], False)


def test_encode_writes_a_frame_that_reads_back() -> None:
    block = encode(b"response.created", b'{"a":1}')
    assert block == b'event: response.created\ndata: {"a":1}\n\n'
    assert list(frames(block)) == [(b"response.created", b'{"a":1}')]


ALPHABET = st.sampled_from([b"\n", b"\r", b"data", b":", b" ", b"event", b"{}", BOM, b"\xef", b"x", b"[DONE]"])


@given(st.lists(ALPHABET).map(b"".join), st.lists(st.integers(0, 60)), st.integers(1, 40))
def test_any_bytes_in_any_cut_give_the_same_frames_or_a_failure(stream: bytes, cuts: list[int], limit: int) -> None:
    borders = sorted({0, len(stream), *(place for place in cuts if place < len(stream))})
    pieces = [stream[a:b] for a, b in pairwise(borders)]
    assert read(pieces) == read([stream])
    try:
        read(pieces, limit)
    except Failure as failure:
        assert failure.code == "upstream_too_large"


@given(st.lists(st.binary()))
def test_random_bytes_never_raise_anything_but_a_failure(pieces: list[bytes]) -> None:
    assert read(pieces) == read([b"".join(pieces)])
