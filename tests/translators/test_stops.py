"""Stop sequences that the upstream is not told of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.close import Close
from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.stops import Stopping, sequences

TEXT, DONE = "response.output_text.delta", "response.output_item.done"


class Scripted:
    """A decoder that gives out one list of events for each block, and closes after the last."""

    awaiting_close = False

    def __init__(self, *blocks: list[StreamEvent], close: Close | None = None) -> None:
        self.closed: Close | None = None
        self._blocks = list(blocks)
        self._close = close or Close("completed")

    def feed(self, block: bytes) -> list[StreamEvent]:
        events = self._blocks.pop(0)
        if not self._blocks:
            self.closed = self._close
        return events

    def finish(self) -> list[StreamEvent]:
        return []

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        return self.feed(body)


def said(*texts: str, index: int = 0) -> StreamEvent:
    return Deltas(TEXT, f"msg_{index}", index, 0, list(texts))


def run(*texts: str) -> StreamEvent:
    """The same as an upstream's own bytes."""
    frames = "".join(
        f'event: {TEXT}\ndata: {{"type":"{TEXT}","item_id":"msg_0","output_index":0,"content_index":0,'
        f'"delta":"{text}","sequence_number":{number}}}\n\n'
        for number, text in enumerate(texts)
    )
    return Run(TEXT, frames.encode(), len(texts), 0)


def play(
    stops: list[str], *blocks: list[StreamEvent], close: Close | None = None
) -> tuple[str, Stopping, list[StreamEvent]]:
    """The text that comes out, the decoder, and everything that came out."""
    decoder = Stopping(Scripted(*blocks, close=close), stops)
    out: list[StreamEvent] = []
    for _ in blocks:
        if decoder.closed is None:
            out += decoder.feed(b"")
    text = "".join("".join(each.texts) for each in out if isinstance(each, Deltas))
    return text, decoder, out


def stop_of(decoder: Stopping) -> Any:
    assert decoder.closed is not None
    return (decoder.closed.response or {}).get("stop_sequence")


@pytest.mark.parametrize(
    ("stops", "text", "kept", "stop"),
    [
        (["END"], "one END two", "one ", "END"),
        (["END"], "ENDless", "", "END"),
        (["END"], "an EN and an E", "an EN and an E", None),
        (["END"], "an EN", "an EN", None),
        (["aab"], "aaab", "a", "aab"),
        (["b", "ab"], "xab", "x", "ab"),
        (["ab", "abc"], "xabc", "x", "ab"),
        (["b", "abc"], "xabc", "xa", "b"),
        (["aa", "ab"], "aaab", "", "aa"),
        (["\n\n"], "line\nline\n\nrest", "line\nline", "\n\n"),
        (["é…"], "caf é…x", "caf ", "é…"),
    ],
)
def test_a_text_ends_before_the_first_sequence_however_it_is_split(
    stops: list[str], text: str, kept: str, stop: str | None
) -> None:
    splits = [[[said(text)]], [[said(*text)]], [[said(each)] for each in text]]
    for blocks in splits:
        out, decoder, events = play(stops, *blocks)
        assert (out, stop_of(decoder)) == (kept, stop)
        assert [event.kind for event in events].count(DONE) == (stop is not None)


def test_an_upstreams_own_bytes_are_read_for_it() -> None:
    out, decoder, _ = play(["two"], [run("one ", "t", "wo", " three")])
    assert (out, stop_of(decoder)) == ("one ", "two")


def test_nothing_that_follows_comes_out() -> None:
    call = Event("response.output_item.added", {"output_index": 1, "item": {"type": "function_call"}})
    out, decoder, events = play(["x"], [said("a"), said("xb"), said("c"), call], [said("d")])
    assert (out, decoder.closed) == ("a", Close("completed", None, {"stop_sequence": "x"}))
    assert events[-1] == Event(DONE, {"type": DONE, "output_index": 0})


def test_what_is_held_back_comes_before_whatever_is_next() -> None:
    call = Event("response.output_item.added", {"output_index": 1, "item": {"type": "function_call"}})
    _, _, events = play(["END"], [said("an EN")], [call], [said("D", index=2)])
    assert events == [said("an "), said("EN"), call, said("D", index=2)]


def test_an_annotation_between_its_halves_hides_no_sequence() -> None:
    cited = Event("response.output_text.annotation.added", {"output_index": 0, "annotation": {"type": "url_citation"}})
    out, decoder, events = play(["END"], [said("an EN")], [cited], [said("D of it")])
    assert (out, stop_of(decoder)) == ("an ", "END")
    assert cited in events


@given(
    stops=st.lists(st.text("ab🌅", min_size=1, max_size=4), min_size=1, max_size=5),
    texts=st.lists(st.text("ab🌅", min_size=1, max_size=5), min_size=1, max_size=6),
)
def test_the_text_is_that_before_the_first_complete_sequence_and_none_is_kept_back_without_need(
    stops: list[str], texts: list[str]
) -> None:
    whole = "".join(texts)
    ends = [(whole.find(each) + len(each), -len(each), each) for each in stops if each in whole]
    end, _, stop = min(ends, default=(len(whole), 0, ""))
    wanted = whole[: end - len(stop)]
    for blocks in ([[said(whole)]], [[said(*texts)]], [[said(each)] for each in texts], [[said(c)] for c in whole]):
        decoder = Stopping(Scripted(*blocks), stops)
        shown, given_in = "", ""
        for block in blocks:
            shown += "".join("".join(each.texts) for each in decoder.feed(b"") if isinstance(each, Deltas))
            given_in += "".join(text for each in block if isinstance(each, Deltas) for text in each.texts)
            if decoder.closed is not None:
                break
            back = given_in[len(shown) :]
            assert given_in.startswith(shown) and any(each.startswith(back) for each in stops)
        assert (shown, stop_of(decoder)) == (wanted, stop or None)


def test_a_sequence_does_not_reach_from_one_message_into_the_next() -> None:
    out, decoder, _ = play(["ab"], [said("a"), said("b", index=1)])
    assert (out, stop_of(decoder)) == ("ab", None)


@pytest.mark.parametrize(
    ("event", "where"),
    [
        (Event("response.output_text.done", {"output_index": 0, "text": "a x b"}), lambda body: body["text"]),
        (
            Event("response.content_part.done", {"output_index": 0, "part": {"type": "output_text", "text": "a x b"}}),
            lambda body: body["part"]["text"],
        ),
        (
            Event(DONE, {"output_index": 0, "item": {"type": "message", "content": [{"text": "a x b"}]}}),
            lambda body: body["item"]["content"][0]["text"],
        ),
    ],
)
def test_a_text_that_comes_whole_is_cut_too(event: Event, where: Any) -> None:
    _, decoder, events = play(["x"], [event, said("later")])
    assert isinstance(events[0], Event)
    assert (where(events[0].body), stop_of(decoder)) == ("a ", "x")
    assert [each.kind for each in events].count(DONE) == 1


def test_items_that_only_the_final_object_has_are_cut_and_its_usage_stays() -> None:
    output: list[Json] = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "a x b"}]},
        {"type": "function_call", "name": "f"},
    ]
    usage = {"input_tokens": 1}
    _, decoder, _ = play(["x"], [], close=Close("completed", None, {"output": output}, usage))
    assert decoder.closed is not None and decoder.closed.response is not None
    assert [item["type"] for item in decoder.closed.response["output"]] == ["reasoning", "message"]
    assert decoder.closed.response["output"][1]["content"][0]["text"] == "a "
    assert (decoder.closed.usage, stop_of(decoder)) == (usage, "x")


@pytest.mark.parametrize("whole", [True, False])
def test_usage_stays_where_the_upstream_had_told_it_already(whole: bool) -> None:
    usage = {"input_tokens": 1}
    decoder = Stopping(Scripted([said("a x b")], close=Close("completed", None, None, usage)), ["x"])
    out = decoder.decode_whole(b"") if whole else decoder.feed(b"")
    assert out[0] == said("a ")
    assert decoder.closed == Close("completed", None, {"stop_sequence": "x"}, usage)


def test_a_failure_of_the_upstream_is_one() -> None:
    class Broken(Scripted):
        def feed(self, block: bytes) -> list[StreamEvent]:
            raise Failure("upstream_error", "Gone.")

    with pytest.raises(Failure):
        Stopping(Broken([]), ["x"]).feed(b"")


@pytest.mark.parametrize(
    ("stop", "found"), [("x", ("x",)), (["x", "", 1, "y"], ("x", "y")), (None, ()), ("", ()), ({"a": 1}, ())]
)
def test_what_counts_as_a_sequence(stop: Any, found: tuple[str, ...]) -> None:
    assert sequences({"stop": stop}) == found
