"""Prices: what tokens cost, by a dated table in the package and by what the configuration says over it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final, NamedTuple

from agentic_proxy.config.model import Price as Given
from agentic_proxy.config.provider_types import LOCAL
from agentic_proxy.usage.base import Spent

FREE: Final = frozenset({"demo", "ollama", "vllm", "lm-studio", "llama.cpp", LOCAL})
"""Provider types that run on machines of one's own."""
TABLE: Final = "prices.toml"
OWN: Final = "usage.prices"
_DATED: Final = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
"""The end of a model's name that only says from when this version is."""
MILLION: Final = 1_000_000


class Rates(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float
    cache_write: float


class Price(NamedTuple):
    """What a model costs. ``above``: the rates of a request with more input tokens than ``limit``. ``source`` says for
    people where it comes from."""

    rates: Rates
    source: str
    limit: int = 0
    above: Rates | None = None

    def cost(self, spent: Spent) -> float:
        """US dollars of a sum. Every token counts once: cached and written ones are parts of the input."""
        rates = self.above if self.above is not None and spent.step >= self.limit else self.rates
        fresh = max(0, spent.input_tokens - spent.cached_tokens - spent.cache_write_tokens)
        dollars = fresh * rates.input + spent.cached_tokens * rates.cached
        dollars += spent.cache_write_tokens * rates.cache_write + spent.output_tokens * rates.output
        return dollars / MILLION


NOTHING: Final = Price(Rates(0.0, 0.0, 0.0, 0.0), "")


class Prices:
    """``own`` is ``usage.prices`` of the configuration, by ``provider/model`` or by model."""

    def __init__(self, own: Mapping[str, Given], table: Mapping[str, Any] | None = None) -> None:
        self._own = {name: Price(_rates(_plain(given)), OWN) for name, given in own.items()}
        self._table = table if table is not None else load()

    def of(self, provider: str, provider_type: str, model: str) -> Price | None:
        """The price of an upstream's model; None when nobody knows it."""
        own = self._own.get(f"{provider}/{model}") or self._own.get(model)
        if own is not None:
            return own
        if provider_type in FREE:
            return NOTHING
        section = self._table.get(provider_type)
        if section is None:
            return None
        models = section["models"]
        row = models.get(model) or models.get(_DATED.sub("", model))
        if row is None:
            return None
        source = f"{provider_type} of {section['date']} ({section['page']})"
        above = row.get("above")
        return Price(_rates(row), source, above["tokens"], _rates(above)) if above else Price(_rates(row), source)


def load() -> dict[str, Any]:
    """The table in the package, by provider type."""
    return tomllib.loads((resources.files("agentic_proxy.usage") / TABLE).read_text(encoding="utf-8"))


def _plain(given: Given) -> dict[str, float]:
    known = {"input": given.input, "output": given.output, "cached": given.cached, "cache_write": given.cache_write}
    return {name: value for name, value in known.items() if value is not None}


def _rates(row: Mapping[str, float]) -> Rates:
    price = float(row["input"])
    return Rates(price, float(row["output"]), float(row.get("cached", price)), float(row.get("cache_write", price)))
