"""DecoderWrapper: whatever the decoder inside says, its wrapper has seen it."""

from __future__ import annotations

import pytest

from translators.close import Close
from translators.events import Event, StreamEvent
from translators.wrapper import DecoderWrapper


class Inner:
    """Answers every call with an event that is named after it."""

    closed: Close | None = None
    awaiting_close = True

    def feed(self, block: bytes) -> list[StreamEvent]:
        return [Event(f"feed {block!r}", {})]

    def finish(self) -> list[StreamEvent]:
        self.closed = Close("completed")
        return [Event("finish", {})]

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        return [Event(f"whole {body!r}", {})]


class Seen(DecoderWrapper):
    def _through(self, events: list[StreamEvent]) -> list[StreamEvent]:
        return [Event(f"seen {event.kind}", {}) for event in events]


def test_every_event_goes_through_the_wrapper() -> None:
    seen = Seen(Inner())
    events = [*seen.feed(b"a"), *seen.decode_whole(b"b"), *seen.finish()]
    assert [event.kind for event in events] == ["seen feed b'a'", "seen whole b'b'", "seen finish"]


def test_the_state_is_that_of_the_decoder_inside() -> None:
    inner = Inner()
    seen = Seen(inner)
    assert (seen.closed, seen.awaiting_close) == (None, True)
    inner.finish()
    assert seen.closed == Close("completed")


def test_a_wrapper_has_to_say_what_becomes_of_events() -> None:
    with pytest.raises(TypeError):
        DecoderWrapper(Inner())  # type: ignore[abstract]
