"""Whatever arrives, however it is cut: nothing but Failure leaves the pipeline, and one ending follows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_proxy.config.model import Limits
from support.streams import cassettes, check, frames_of, is_bridged, play
from translators.tools.calls import Bridge

quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
RECORDED = {path.stem: (path.read_bytes(), is_bridged(path)) for path in cassettes()}
SMALL = Limits(sse_line=4096, arguments=2048, retained=32768)

names = st.sampled_from(sorted(RECORDED))
cuts = st.lists(st.integers(0, 5000), max_size=8)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[start:end] for start, end in pairwise(edges)]


@st.composite
def changed_frames(draw: st.DrawFn) -> tuple[bytes, bool]:
    """A cassette with frames dropped, repeated, swapped or taken from another one."""
    body, bridged = RECORDED[draw(names)]
    frames = frames_of(body)
    for _ in range(draw(st.integers(1, 4))):
        where = draw(st.integers(0, len(frames) - 1))
        match draw(st.sampled_from(["drop", "repeat", "swap", "foreign", "cut"])):
            case "drop" if len(frames) > 1:
                del frames[where]
            case "repeat":
                frames.insert(draw(st.integers(0, len(frames))), frames[where])
            case "swap":
                other = draw(st.integers(0, len(frames) - 1))
                frames[where], frames[other] = frames[other], frames[where]
            case "foreign":
                frames.insert(where, draw(st.sampled_from(frames_of(RECORDED[draw(names)][0]))))
            case "cut":
                frames[where] = frames[where][: draw(st.integers(0, len(frames[where])))]
    return b"".join(frames), bridged


@st.composite
def changed_bytes(draw: st.DrawFn) -> tuple[bytes, bool]:
    """A cassette with bytes flipped, dropped, repeated or replaced by what means something in JSON and SSE."""
    original, bridged = RECORDED[draw(names)]
    body = bytearray(original)
    telling = [*b'" \\ { } [ null -1 1e99 \\ud83d \xff \x00'.split(), b"\n", b"\n\n", b"\r"]
    for _ in range(draw(st.integers(1, 5))):
        where = draw(st.integers(0, max(len(body) - 1, 0)))
        size = draw(st.integers(0, 12))
        match draw(st.sampled_from(["flip", "drop", "repeat", "insert"])):
            case "flip" if body:
                body[where] ^= 1 << draw(st.integers(0, 7))
            case "drop":
                del body[where : where + size]
            case "repeat":
                body[where:where] = body[where : where + size * 20]
            case "insert":
                body[where : where + size] = draw(st.sampled_from(telling))
    return bytes(body), bridged


VALUES = st.sampled_from(
    b'null true -1 0 1 7 1.5 1e400 99999999999999999999 "" "x" [] {} [1] {"a":1} [{"type":"message"}]'
    b' "message" "function_call" "response.output_item.done"'.split()
)


@st.composite
def changed_values(draw: st.DrawFn) -> tuple[bytes, bool]:
    """A cassette with values of another type behind some of its keys."""
    body, bridged = RECORDED[draw(names)]
    for _ in range(draw(st.integers(1, 4))):
        marks = [place for place in range(len(body)) if body.startswith(b'":', place)]
        start = draw(st.sampled_from(marks)) + 2 if marks else 0
        end = min((place for mark in (b",", b"}") if (place := body.find(mark, start)) >= 0), default=len(body))
        body = body[:start] + draw(VALUES) + body[end:]
    return body, bridged


@quick
@given(changed_frames(), cuts)
def test_frames_in_any_order_end_once(changed: tuple[bytes, bool], places: list[int]) -> None:
    body, bridged = changed
    check(play(cut(body, places), bridged=bridged), raw_ok=True)


@quick
@given(changed_bytes(), cuts)
def test_broken_bytes_end_once(changed: tuple[bytes, bool], places: list[int]) -> None:
    body, bridged = changed
    check(play(cut(body, places), bridged=bridged), raw_ok=True, schema=False)


@quick
@given(changed_values(), cuts)
def test_values_of_any_type_end_once(changed: tuple[bytes, bool], places: list[int]) -> None:
    body, bridged = changed
    check(play(cut(body, places), bridged=bridged), raw_ok=True, schema=False)


@quick
@given(names, cuts)
def test_any_cut_of_a_good_stream_gives_the_same_bytes(name: str, places: list[int]) -> None:
    body, bridged = RECORDED[name]
    per_frame = play(frames_of(body), bridged=bridged)
    played = play(cut(body, places), bridged=bridged)
    if per_frame.failure is None:
        assert played.data == per_frame.data
    else:
        assert played.failure is not None and played.failure.message == per_frame.failure.message
        check(played)


@quick
@given(changed_frames(), cuts)
def test_small_limits_end_once(changed: tuple[bytes, bool], places: list[int]) -> None:
    body, bridged = changed
    check(play(cut(body, places), bridged=bridged, limits=SMALL), raw_ok=True)


BRIDGES = (Bridge("strict"), Bridge("pass"), Bridge("repair", live=False))


@quick
@given(changed_frames(), cuts, st.sampled_from(BRIDGES))
def test_calls_end_once_in_every_mode(changed: tuple[bytes, bool], places: list[int], bridge: Bridge) -> None:
    body, bridged = changed
    check(play(cut(body, places), bridged=bridged, bridge=bridge), raw_ok=True)


@quick
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_noise_ends_once(chunks: list[bytes]) -> None:
    check(play(chunks), raw_ok=True)
