"""Executor: how one provider is called. Transport: how its bytes travel. The engine knows only these protocols."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from agentic_proxy.config.model import Provider
from agentic_proxy.config.secrets import Secret
from translators.dialects.base import Dialect

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


def reason_of(error: OSError) -> str:
    """What the operating system says of a connection, in its own words and without the addresses in Python's."""
    return os.strerror(error.errno).lower() if error.errno else "connection failed"


class UpstreamResponse(Protocol):
    """The head of an upstream answer and its body as it arrives.

    ``finish()`` or ``close()`` ends it, whichever comes first; both are idempotent and never raise.
    """

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """Lower-case names."""
        ...

    async def read_some(self) -> bytes:
        """The next body bytes, as many as one socket read brought; ``b""`` at the end of the body.

        Raises Failure ``upstream_closed`` when the connection broke inside the body.
        """
        ...

    async def read(self, limit: int) -> bytes:
        """The body, at most ``limit`` bytes of it."""
        ...

    def finish(self) -> None:
        """The message is complete: keep the connection for the next one if the body ends within a moment."""
        ...

    def close(self) -> None:
        """Close the connection now, unless the whole body was read."""
        ...


class Transport(Protocol):
    """Opens HTTP exchanges. One per engine; owns the connection pool."""

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, *, proxy: str | None = None
    ) -> UpstreamResponse:
        """Raises Failure ``upstream_unreachable`` or ``upstream_timeout``."""
        ...

    async def get(
        self, url: str, headers: dict[str, str], *, proxy: str | None = None, timeout: float
    ) -> UpstreamResponse: ...

    async def close(self) -> None: ...


class Executor(Protocol):
    """One provider. Made once per configuration; holds no state of a request."""

    @property
    def provider(self) -> Provider: ...

    @property
    def wire(self) -> str:
        """The format this upstream speaks: a name from ``translators.registry``."""
        ...

    def dialect_of(self, model: str) -> Dialect:
        """How this provider's ``model`` (its own name for it) wants its requests."""
        ...

    @property
    def where(self) -> str:
        """The provider for people: its name and base URL."""
        ...

    async def open(
        self, body: bytes, credential: Secret | None, headers: Mapping[str, str] = NO_HEADERS, *, below: str = ""
    ) -> UpstreamResponse:
        """Start one attempt: POST the translated body, and headers of this request, to this provider's endpoint, or
        to a path ``below`` it (``/compact``)."""
        ...

    async def list_models(self) -> list[str]:
        """Model ids of the upstream's own list. Raises Failure when it has none or did not answer within 2 seconds."""
        ...
