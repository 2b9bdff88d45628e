"""What is kept of each client request and of each upstream attempt, and who keeps it.

Numbers, names and ids of rules: never a word of a conversation, never a key, never a header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

Transport = Literal["http", "websocket"]
Reason = Literal["", "session", "cooling", "closed", "window"]

STEPS: Final = (200_000, 256_000, 272_000, 512_000)
"""Input tokens of one request above which some provider's price is another one, ascending."""
LEFT: Final = ("client_gone", "response_cancelled")
"""Codes of attempts that the client itself ended: they did not fail."""
QUARTER: Final = 900
"""Seconds by which sums are kept apart: every time zone's day begins with one."""


class Way(NamedTuple):
    """One candidate of a route. ``why`` tells its place: ``session`` stands first because it served the session before,
    ``cooling`` stands behind those that are well (``code`` and ``until``, Unix seconds, say why and how long),
    ``closed`` is not asked before then, ``window`` is not asked: its ``window`` is smaller than the estimated
    ``tokens``."""

    provider: str
    model: str
    key: str = ""
    why: Reason = ""
    code: str = ""
    until: float = 0.0
    window: int = 0
    tokens: int = 0


class UsageRecord(NamedTuple):
    """One upstream attempt. Written to the sink before the terminal event goes out.

    ``at`` is Unix seconds at its end, ``seconds`` its duration; ``code`` None means success. ``number`` counts the
    attempts of a request from 1, ``retry`` those of a round that came before. ``cached_tokens`` and
    ``cache_write_tokens`` are parts of ``input_tokens``, ``reasoning_tokens`` of ``output_tokens``.
    """

    at: float
    response_id: str
    client_format: str
    model: str
    provider: str
    upstream_model: str
    seconds: float
    code: str | None
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    notes: tuple[str, ...] = ()
    """Ids of the rules by which the request was translated."""
    repairs: tuple[str, ...] = ()
    """Ids of the rules by which the model's apply_patch calls were repaired."""
    lessons: tuple[str, ...] = ()
    """Ids of what earlier refusals taught and this request was made with."""
    request_id: str = ""
    client: str = ""
    provider_type: str = ""
    """Its type, or who a plain provider really is (``config.provider_types.known_as``)."""
    credential: str = ""
    """Which key of several, as ``key 2 of 3``; never the key."""
    number: int = 1
    retry: int = 0
    first_event: float | None = None
    """Seconds to the first event that the upstream sent; None when there was none."""
    cache_write_tokens: int = 0


class RequestRecord(NamedTuple):
    """One client request. ``at`` is Unix seconds at its arrival, ``seconds`` the time to its end.

    ``id`` is the ``x-request-id`` of an HTTP answer; turns of a WebSocket have one of their own. ``status`` is the HTTP
    status that the client saw, ``outcome`` the status of the response, ``code`` None unless it failed. ``provider`` and
    ``upstream_model`` name who was asked last, or would have been; empty when nobody was.
    """

    at: float
    id: str
    response_id: str
    client_format: str
    transport: Transport
    client: str
    model: str
    provider: str
    upstream_model: str
    status: int
    outcome: str
    code: str | None
    seconds: float
    route: tuple[Way, ...] = ()


class Asked(NamedTuple):
    """Requests in a quarter of an hour (Unix seconds of its begin), by who asked and who was asked last."""

    quarter: int
    client: str
    provider: str
    model: str
    requests: int


class Spent(NamedTuple):
    """Attempts and their tokens in a quarter of an hour. ``step``: the largest of ``STEPS`` that the input of each was
    above, or 0."""

    quarter: int
    client: str
    provider: str
    provider_type: str
    model: str
    step: int
    attempts: int
    failed: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int


class Sums(NamedTuple):
    """Everything since a moment."""

    asked: list[Asked]
    spent: list[Spent]


class Story(NamedTuple):
    """One request with its attempts in order; ``request`` None while it runs."""

    request: RequestRecord | None
    attempts: list[UsageRecord]


class Ledger(Protocol):
    """Where records are kept. Every method may raise Failure ``store_failed``."""

    async def keep_usage(self, requests: Sequence[RequestRecord], attempts: Sequence[UsageRecord]) -> None:
        """Keep records, all or none."""
        ...

    async def usage_since(self, at: int) -> Sums:
        """Sums of what was kept since then (Unix seconds)."""
        ...

    async def story(self, name: str) -> Story | None:
        """The request with this id, or the one whose response has it; None when nothing is kept of it."""
        ...
