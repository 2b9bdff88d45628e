"""RelayDecoder: what is common to the routes between two ends of one format, with a format of the test's own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from translators.close import Close
from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.relay import WHOLE, Renaming, held, passed
from translators.relay_decoder import RelayDecoder
from translators.template import Template


class Inner:
    """Knows one call and one end; ``empty`` says that nothing at all had come."""

    awaiting_close = False

    def __init__(self) -> None:
        self.closed: Close | None = None

    def feed(self, block: bytes) -> list[StreamEvent]:
        if block.startswith(b"empty"):
            raise Failure("upstream_empty", "nothing")
        call: Json = {"output_index": 0, "item": {"type": "function_call"}}
        return [Event("response.output_item.added", call), Deltas("response.output_text.delta", "i", 1, 0, ["x"])]

    def finish(self) -> list[StreamEvent]:
        self.closed = Close("completed")
        return self.feed(b"call")

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        self.closed = Close("completed", usage={"n": 1})
        return [Deltas("response.output_text.delta", "i", 0, 0, ["x"])]


class Lines(RelayDecoder):
    """``data: {"t":"..."}`` is content, ``stop`` ends it, anything else is for the decoder over the hub."""

    def __init__(self, *, streams: bool = True) -> None:
        template = Template(re.compile(rb'"t":(?=")'), lambda body: body["t"], lambda raw: raw.replace(b'"m"', b'"M"'))
        super().__init__(Inner(), Renaming("mine"), template, "not finished", streams=streams)
        self.looked: list[int] = []

    def _plain(self, block: bytes, position: int) -> int:
        self.looked.append(position)
        match = re.compile(rb'(?:data: \{"t":"[^"]*"[^\n]*\}\n\n)+').match(block, position)
        return match.end() if match else position

    def _frame(self, frame: bytes, out: list[StreamEvent]) -> None:
        self._begun = True
        if frame == b"stop\n\n":
            self._holding = True
        elif frame.startswith(b"data"):
            out.append(self._passed(frame))
        else:
            out += self._of_calls(frame)


def kept(events: list[StreamEvent]) -> list[bytes]:
    return [event.block for event in events if isinstance(event, Run)]


def line(text: str, more: str = "") -> bytes:
    return b'data: {"t":"%b","m":1%b}\n\n' % (text.encode(), more.encode())


def test_content_is_looked_at_until_it_repeats_and_leaves_changed() -> None:
    relay = Lines()
    first = relay.feed(line("a") + line("b"))
    assert first == [passed(line("a")), passed(line("b").replace(b'"m"', b'"M"'))]
    relay.looked.clear()
    assert b"".join(kept(relay.feed(line("c") * 50))) == (line("c") * 50).replace(b'"m"', b'"M"')
    assert relay.looked == []


def test_what_repeats_is_found_when_each_read_brings_one_frame() -> None:
    relay = Lines()
    for text in "abc":
        relay.feed(line(text))
    assert relay.looked == [0]


def test_what_repeats_is_found_by_its_first_frame_when_one_read_brings_all() -> None:
    relay = Lines()
    changed = line("a").replace(b'"m"', b'"M"')
    assert b"".join(kept(relay.feed(line("a") * 50))) == line("a") + changed * 49
    assert relay.looked == [0]


@pytest.mark.parametrize(("between", "grows"), [(b"", True), (b"call\n\n", False)])
def test_more_is_searched_at_once_only_while_nothing_else_comes(
    between: bytes, grows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or each frame would search all that is left of a read."""
    relay, windows = Lines(), set()
    relay.feed(line("a") * 2)
    take = Template.take

    def watched(self: Template, block: bytes, position: int, window: int) -> tuple[bytes, int]:
        windows.add(window)
        return take(self, block, position, window)

    monkeypatch.setattr(Template, "take", watched)
    relay.feed((line("a") + between) * 500)
    assert (len(windows) > 1) is grows


def test_what_repeats_may_become_another_frame_any_number_of_times() -> None:
    relay = Lines()
    relay.feed(line("a"))
    for number in range(30):
        frame = line("a", f',"n":{number}')
        relay.looked.clear()
        for _ in range(3):
            relay.feed(frame)
        assert relay.looked == [0]


def test_where_each_frame_differs_the_template_is_given_up() -> None:
    relay = Lines()
    frames = [line("a", f',"n":{n}') for n in range(30)]
    assert kept(relay.feed(frames[0])) == [frames[0]]
    for frame in frames:
        relay.feed(frame)
    for frame in frames:
        relay.looked.clear()
        assert relay.feed(frame) == [passed(frame.replace(b'"m"', b'"M"'))]
        assert relay.looked == [0]


def test_after_a_stop_everything_is_held() -> None:
    relay = Lines()
    assert relay.feed(line("a") + b"stop\n\n" + line("b")) == [passed(line("a")), held(line("b"))]


def test_a_block_of_other_frames_is_looked_at_a_few_times_only() -> None:
    relay = Lines()
    relay.feed(b"call\n\n" * 200)
    assert len(relay.looked) == 4


def test_of_other_frames_only_what_belongs_to_calls_is_told() -> None:
    relay = Lines()
    assert [event.kind for event in relay.feed(b"call\n\n")] == ["response.output_item.added"]
    assert [event.kind for event in relay.finish()] == ["response.output_item.added"]
    assert relay.closed == Close("completed")


@pytest.mark.parametrize(("before", "code"), [(b"", "upstream_empty"), (line("a"), "upstream_closed")])
def test_an_end_without_content_is_empty_and_one_after_content_is_early(before: bytes, code: str) -> None:
    class Late(Lines):
        def _frame(self, frame: bytes, out: list[StreamEvent]) -> None:
            self._begun = self._begun or frame.startswith(b"data")
            out += self._of_calls(frame)

    with pytest.raises(Failure) as caught:
        Late().feed(before + b"empty\n\n")
    assert caught.value.code == code


def test_a_whole_answer_is_kept_with_the_models_name_as_the_client_sent_it() -> None:
    relay, answer = Lines(streams=False), b'{"model":"up","x":[]}'
    events: list[Any] = relay.decode_whole(answer)
    assert events == [], "nobody would read them"
    assert relay.closed == Close("completed", usage={"n": 1}, response={WHOLE: b'{"model":"mine","x":[]}'})


def test_a_whole_answer_is_told_event_by_event_to_a_client_that_takes_a_stream() -> None:
    assert [event.kind for event in Lines().decode_whole(b"{}")] == ["response.output_text.delta"]


def test_a_stream_that_nobody_asked_for_is_read_by_the_decoder_over_the_hub() -> None:
    """No frame could be shown: what they say has to become items."""
    relay = Lines(streams=False)
    for events in (relay.feed(line("a") + b"call\n\n"), relay.finish()):
        assert [event.kind for event in events] == ["response.output_item.added", "response.output_text.delta"]
    assert relay.looked == []
