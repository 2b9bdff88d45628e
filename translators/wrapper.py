"""DecoderWrapper: a decoder around another one, which sees every event that comes out of it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from translators.close import Close
from translators.events import StreamEvent
from translators.registry import Decoder

__all__ = ["DecoderWrapper"]


class DecoderWrapper(ABC):
    """Wraps the decoder of one attempt; a kind of wrapper says what becomes of the events."""

    def __init__(self, inner: Decoder) -> None:
        self._inner = inner

    @property
    def closed(self) -> Close | None:
        """How the upstream response ended, once it did."""
        return self._inner.closed

    @property
    def awaiting_close(self) -> bool:
        """Whether only the end marker is missing."""
        return self._inner.awaiting_close

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Decode complete frames; raises as the inner decoder does."""
        return self._through(self._inner.feed(block))

    def finish(self) -> list[StreamEvent]:
        """The connection ended cleanly."""
        return self._through(self._inner.finish())

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """A complete JSON answer; raises as the inner decoder does."""
        return self._through(self._inner.decode_whole(body))

    @abstractmethod
    def _through(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """What leaves of these events."""
