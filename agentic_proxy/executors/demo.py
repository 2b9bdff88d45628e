"""The ``demo`` provider: a scripted upstream inside the process, for trying the proxy without any model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

import orjson

from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.executors.base import NO_HEADERS, Transport, UpstreamResponse
from agentic_proxy.executors.demo_model import MODEL, stream
from translators.dialects.base import Dialect

PACE = 0.01
"""Seconds between two reads, so that a person sees a stream."""


class _Answer:
    """A Chat Completions stream whose bytes come from the script instead of a socket."""

    status = 200

    def __init__(self, frames: Iterator[bytes], pace: float) -> None:
        self.headers = {"content-type": "text/event-stream"}
        self._frames = frames
        self._pace = pace

    async def read_some(self) -> bytes:
        await asyncio.sleep(self._pace)
        return next(self._frames, b"")

    async def read(self, limit: int) -> bytes:
        return b"".join(self._frames)[:limit]

    def finish(self) -> None:
        self.close()

    def close(self) -> None:
        self._frames = iter(())


class Demo:
    """Answers every request from its script; needs no address and no credential. ``pace`` in seconds per read."""

    wire = "chat"

    def __init__(self, provider: Provider, transport: Transport, pace: float | None = None) -> None:
        self.provider = provider
        self._pace = PACE if pace is None else pace

    def dialect_of(self, model: str) -> Dialect:
        """The plain one."""
        return Dialect(name="demo")

    @property
    def where(self) -> str:
        """The provider for people."""
        return f"Provider {self.provider.name!r} (the built-in demo)"

    async def open(
        self, body: bytes, credential: Secret | None, headers: Mapping[str, str] = NO_HEADERS, *, below: str = ""
    ) -> UpstreamResponse:
        """The scripted answer to a Chat Completions request."""
        return _Answer(stream(orjson.loads(body)), self._pace)

    async def list_models(self) -> list[str]:
        """The one model there is."""
        return [MODEL]
