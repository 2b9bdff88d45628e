"""Every client format in front of every upstream format: what holds for all of them. A new format is picked up from
the registry; it only has to say here how its upstream speaks and how its client's stream is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from support.messages_stream import messages_frames
from support.readers import read_chat, read_messages
from support.streams import Played, check, frames_of, play, splits
from support.turns import Call, Cut, Failed, Incomplete, Say
from support.wires import Playable, Streamed, chat_frames, responses_frames
from translators.registry import CLIENTS, UPSTREAMS, pairs

SPEAK: dict[str, Callable[..., Iterator[bytes]]] = {
    "responses": responses_frames,
    "chat": chat_frames,
    "messages": messages_frames,
}
READ: dict[str, Callable[[Played], object]] = {
    "responses": check,
    "chat": lambda played: read_chat(played.data),
    "messages": lambda played: read_messages(played.data),
}

PATCH = {"input": '*** Begin Patch\n*** Add File: é.txt\n+"🐚"\n*** End Patch'}
TURNS: dict[str, tuple[Playable, Streamed, str | None]] = {
    "text": ((Say("Good morning, 早安 🌅, and more of it than fits into one delta."),), None, None),
    "reasoning": ((Say("So.", reasoning="First this, then that."),), None, None),
    "call": ((Call("get_weather", {"city": "Kiel"}),), None, None),
    "custom call": ((Call("apply_patch", PATCH),), None, None),
    "namespaced calls": (
        (Call("mcp__files__read", {"path": "a"}), Call("functions__exec", {"input": "x"})),
        None,
        None,
    ),
    "text and calls": ((Say("Both:"), Call("apply_patch", PATCH), Call("tool_search", {"query": "q"})), None, None),
    "incomplete": ((Say("cut"),), Incomplete("max_output_tokens"), None),
    "filtered": ((Say("cut"),), Incomplete("content_filter"), None),
    "cut call": ((Call("apply_patch", '{"input":"*** Beg'),), Incomplete("max_output_tokens"), None),
    "bad call": ((Call("apply_patch", '{"patch":"x"}'),), None, "invalid_tool_arguments"),
    "bad arguments": ((Call("get_weather", "{city}"),), None, "invalid_tool_arguments"),
    "cut": ((Say("no end"),), Cut("text"), "upstream_closed"),
    "cut before the close": ((Call("get_weather", {"city": "Kiel"}),), Cut("text"), "upstream_closed"),
    "failed": ((Say("oh"),), Failed("server_error", "Gone."), "upstream_error"),
}
every_pair = pytest.mark.parametrize(("client", "upstream"), pairs())
every_turn = pytest.mark.parametrize(("items", "fault", "code"), TURNS.values(), ids=TURNS)


def body_of(upstream: str, items: Playable, fault: Streamed) -> bytes:
    return b"".join(SPEAK[upstream]({"model": "m", "stream_options": {"include_usage": True}}, items, fault))


def test_every_format_takes_part() -> None:
    assert set(SPEAK) == set(UPSTREAMS)
    assert set(READ) == set(CLIENTS)


@every_pair
@every_turn
def test_a_turn_ends_once_and_alike_however_it_is_cut(
    client: str, upstream: str, items: Playable, fault: Streamed, code: str | None
) -> None:
    body = body_of(upstream, items, fault)
    whole, per_frame, per_byte = (play(chunks, client=client, upstream=upstream) for _, chunks in splits(body))
    for played in (whole, per_frame, per_byte):
        assert (played.failure.code if played.failure else None) == code
        READ[client](played)
    assert per_frame.data == per_byte.data
    assert code is not None or whole.data == per_byte.data


@every_pair
@every_turn
def test_a_turn_cut_after_any_frame_ends_once(
    client: str, upstream: str, items: Playable, fault: Streamed, code: str | None
) -> None:
    frames = frames_of(body_of(upstream, items, fault))
    for count in range(len(frames) - 2):
        READ[client](play(frames[:count], client=client, upstream=upstream))


@pytest.mark.parametrize("client", CLIENTS)
@every_turn
def test_the_same_answer_is_the_same_items_over_every_upstream_format(
    client: str, items: Playable, fault: Streamed, code: str | None
) -> None:
    outputs = [
        [_bare(item) for item in play([body_of(upstream, items, fault)], client=client, upstream=upstream).output]
        for upstream in UPSTREAMS
    ]
    assert all(output == outputs[0] for output in outputs)


def _bare(item: dict[str, object]) -> dict[str, object]:
    """Without ids, and without what a format cannot carry: a reasoning summary is plain reasoning in Chat."""
    left_out = {"id", "call_id"}
    if item["type"] == "reasoning":
        left_out |= {"summary", "content", "encrypted_content"}
    return {key: value for key, value in item.items() if key not in left_out}
