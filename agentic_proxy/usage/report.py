"""Report: sums of requests, attempts, tokens and cost, by day, model, client or provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from agentic_proxy.usage.base import Asked, Spent, Sums
from agentic_proxy.usage.prices import Prices

DIMENSIONS: Final = ("day", "model", "client", "provider")
_OF: Final[dict[str, Callable[[Asked | Spent], str]]] = {
    "day": lambda row: datetime.fromtimestamp(row.quarter).strftime("%Y-%m-%d"),
    "model": lambda row: row.model,
    "client": lambda row: row.client,
    "provider": lambda row: row.provider or "none",
}
"""A day is one of this machine's time zone."""


@dataclass(slots=True)
class Row:
    """A sum. ``cost`` in US dollars is that of the tokens with a known price; ``unpriced`` are ``provider/model`` names
    of the others."""

    requests: int = 0
    attempts: int = 0
    failed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    unpriced: set[str] = field(default_factory=set)

    def spend(self, spent: Spent, cost: float | None) -> None:
        """Add a sum of attempts; ``cost`` None: nobody knows it."""
        self.attempts += spent.attempts
        self.failed += spent.failed
        self.input_tokens += spent.input_tokens
        self.cached_tokens += spent.cached_tokens
        self.output_tokens += spent.output_tokens
        self.reasoning_tokens += spent.reasoning_tokens
        if cost is not None:
            self.cost += cost
        elif spent.input_tokens or spent.output_tokens:
            self.unpriced.add(f"{spent.provider}/{spent.model}")


@dataclass(slots=True)
class Report:
    """``rows`` by their values of the dimensions ``by``, in order; ``sources`` say where the prices come from."""

    by: tuple[str, ...]
    rows: dict[tuple[str, ...], Row]
    total: Row
    sources: tuple[str, ...]


def report(sums: Sums, by: Sequence[str], prices: Prices) -> Report:
    """Fold sums. A request counts where it was answered in the end, or was asked for when nobody was."""
    rows: dict[tuple[str, ...], Row] = {}
    total, sources = Row(), set()
    for asked in sums.asked:
        for row in (total, _row(rows, by, asked)):
            row.requests += asked.requests
    for spent in sums.spent:
        price = prices.of(spent.provider, spent.provider_type, spent.model)
        cost = price.cost(spent) if price is not None else None
        if cost and price is not None:
            sources.add(price.source)
        for row in (total, _row(rows, by, spent)):
            row.spend(spent, cost)
    return Report(tuple(by), dict(sorted(rows.items())), total, tuple(sorted(sources)))


def _row(rows: dict[tuple[str, ...], Row], by: Sequence[str], one: Asked | Spent) -> Row:
    return rows.setdefault(tuple(_OF[name](one) for name in by), Row())
