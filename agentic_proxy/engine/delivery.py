"""Delivery: the one writer of a turn's stream. Head first, no gap in the numbers, fillers while nothing comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agentic_proxy.config.model import Timeouts
from agentic_proxy.engine.silence import Silence


class Sink(Protocol):
    """Where a stream is written. ``started`` tells whether the response head is out."""

    started: bool

    async def start(self) -> None: ...

    async def write(self, data: bytes) -> None: ...


class Delivery:
    """Writes to ``sink``; with None nobody reads a stream and nothing is written."""

    def __init__(self, sink: Sink | None) -> None:
        self._sink = sink
        self._silence: Silence | None = None
        self._filler: Callable[[], bytes] = bytes
        self._writing = False
        self.client_gone = False
        """The sink refused bytes: nobody reads an ending."""

    @property
    def streams(self) -> bool:
        """Whether there is a stream at all."""
        return self._sink is not None

    @property
    def started(self) -> bool:
        """Whether the response head is out."""
        return self._sink is not None and self._sink.started

    def watch(self, timeouts: Timeouts, filler: Callable[[], bytes]) -> None:
        """From now on send ``filler()`` whenever the client has heard nothing for a while: first the head with
        created, later a keepalive event."""
        if self._sink is not None:
            self._filler = filler
            self._silence = Silence(timeouts, self._fill)

    async def write(self, data: bytes) -> None:
        """Send bytes, the response head first. Raises ConnectionError when the client is gone."""
        sink, silence = self._sink, self._silence
        if sink is None or not data:
            return
        # These bytes are numbered already: a filler that is on its way goes first, another must not begin.
        self._writing = True
        try:
            if silence is not None:
                silence.touch()
                if silence.busy:
                    await silence.idle()
            await self._send(sink, data)
        finally:
            self._writing = False

    async def quiet(self) -> None:
        """Wait until no filler is on its way."""
        if self._silence is not None and self._silence.busy:
            await self._silence.idle()

    def stop(self) -> None:
        """No more fillers. What made them is let go: it leads back to the turn, whose request and answer would stay in
        memory until the collector comes, which it seldom does."""
        silence, self._silence, self._filler = self._silence, None, bytes
        if silence is not None:
            silence.stop()

    async def _send(self, sink: Sink, data: bytes) -> None:
        try:
            if not sink.started:
                await sink.start()
            await sink.write(data)
        except ConnectionError:
            self.client_gone = True
            raise

    async def _fill(self) -> None:
        sink = self._sink
        if self._writing or sink is None:
            return
        data = self._filler()
        if data:
            await self._send(sink, data)
