"""RelayDecoder: the decoder of a same-format route, without what is special to a format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Protocol

from translators.close import Close
from translators.events import StreamEvent
from translators.failure import Failure
from translators.holding import Gate
from translators.relay import WHOLE, Renaming, held, of_calls, passed
from translators.template import Template

__all__ = ["RelayDecoder"]

_LESSONS = 8
"""How many frames in a row are looked at in vain to find the one that repeats: where each differs, that is waste."""
_WINDOW = 1024
"""Bytes that are searched for frames of the kind that repeats; four times as many as long as there are no others."""
_LOOKS = 4
"""How often in one block frames are looked at in vain before the rest goes one by one: each look may read it all."""


class _Inner(Protocol):
    """The decoder over the hub of the same format."""

    @property
    def closed(self) -> Close | None: ...

    @property
    def awaiting_close(self) -> bool: ...

    def feed(self, block: bytes) -> list[StreamEvent]: ...

    def finish(self) -> list[StreamEvent]: ...

    def decode_whole(self, body: bytes) -> list[StreamEvent]: ...


class RelayDecoder(ABC):
    """Decodes one upstream response of a same-format route: sorts its frames and leaves them as they are.

    ``inner`` sees the frames that the proxy has to understand, ``renaming`` puts the client's name of the model in,
    ``template`` finds the content that repeats, ``unfinished`` says what is missing when the stream ends early, and
    ``streams`` whether the client takes a stream. A format adds ``_plain`` and ``_frame``, and may add ``_said``.
    """

    def __init__(
        self, inner: _Inner, renaming: Renaming, template: Template, unfinished: str, *, streams: bool
    ) -> None:
        self._inner = inner
        self._rename = renaming
        self._unfinished = unfinished
        self._streams = streams
        self._template = template
        self._lessons = _LESSONS
        self._close: Close | None = None
        self._begun = False
        self._holding = False
        self._gates: dict[int, Gate] = {}
        self._calls: set[int] = set()

    @property
    def closed(self) -> Close | None:
        """How the upstream response ended, once it did."""
        return self._close or self._inner.closed

    @property
    def awaiting_close(self) -> bool:
        return self._inner.awaiting_close

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Sort complete frames. Raises Failure as the decoder over the hub does.

        A client that asked for no stream reads no frames: where the upstream sends them all the same, its answer is put
        together here.
        """
        if not self._streams:
            return self._gathered(self._inner.feed(block), block)
        out: list[StreamEvent] = []
        position, size = 0, len(block)
        looks, learns, window = _LOOKS, self._lessons > 0, _WINDOW
        while position < size and self.closed is None:
            free = self._begun and not self._holding
            if free and self._template.known:
                raw, after = self._template.take(block, position, window)
                if raw:
                    # What was all of this kind may go on like that; what was not may change again soon.
                    window = 4 * window if after - position > window // 2 else _WINDOW
                    position = after
                    self._lessons = _LESSONS
                    out.append(passed(raw))
                    continue
            end = block.find(b"\n\n", position) + 2
            if end < 2:
                break  # blank lines that were one too many
            if free and looks:
                # Where nothing repeats yet the first frame is looked at alone: the others may be like it.
                seen, start = (block[position:end], 0) if learns else (block, position)
                after = self._plain(seen, start)
                if after > start:
                    out.append(passed(self._template.change(seen[start:after])))
                    position += after - start
                    if learns:
                        self._learn(seen)
                        learns = False
                    continue
                looks -= 1
            self._frame(block[position:end], out)
            position = end
        return out

    def finish(self) -> list[StreamEvent]:
        """The connection ended cleanly."""
        events = self._inner.finish()
        return of_calls(events, self._calls) if self._streams else self._gathered(events, b"")

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """A complete answer: kept as it came, and where it calls tools judged as on every route. For a client that
        takes a stream it is told event by event."""
        events: list[StreamEvent] = []
        close = None if self._streams else self._said(body)
        if close is None:
            events = self._inner.decode_whole(body)
            close = self._inner.closed
        if close is not None:
            self._close = replace(close, response={WHOLE: self._rename.whole(body)})
        return events if self._streams or of_calls(events, self._calls) else []

    def _said(self, body: bytes) -> Close | None:
        """How an answer ends that is words alone, in the usual form; None where the decoder over the hub has to say."""
        return None

    def _gathered(self, events: list[StreamEvent], block: bytes) -> list[StreamEvent]:
        """The events of a stream that nobody asked for, from which the answer is made as on every other route. A format
        in which that would not be what the upstream said makes it from the frames."""
        return events

    @abstractmethod
    def _plain(self, block: bytes, position: int) -> int:
        """Where the frames of content that stand at ``position`` end, if they are whole."""

    @abstractmethod
    def _frame(self, frame: bytes, out: list[StreamEvent]) -> None:
        """Sort one frame."""

    def _learn(self, frame: bytes) -> None:
        """A frame of nothing but content: the next ones may be like it."""
        if self._lessons > 1:
            self._lessons -= 1
            self._template.learn(frame)
        else:
            self._lessons = 0
            self._template.forget()

    def _of_calls(self, frame: bytes) -> list[StreamEvent]:
        """What the decoder over the hub says of the calls in a frame."""
        try:
            return of_calls(self._inner.feed(frame), self._calls)
        except Failure as failure:
            if failure.code == "upstream_empty" and self._begun:
                raise Failure("upstream_closed", self._unfinished) from None
            raise

    def _passed(self, raw: bytes) -> StreamEvent:
        return held(raw) if self._holding else passed(raw)
