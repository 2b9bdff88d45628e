"""What tokens cost: the configuration before the table, every token once, and nothing where nobody knows."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from agentic_proxy.config.model import Price as Given
from agentic_proxy.config.provider_types import LOCAL, TYPES
from agentic_proxy.usage.base import STEPS, Spent
from agentic_proxy.usage.prices import FREE, Prices, load

TABLE: dict[str, Any] = {
    "openai": {
        "date": "2026-08-02",
        "page": "https://prices.example",
        "models": {
            "big": {"input": 4, "cached": 1, "output": 10, "above": {"tokens": 200_000, "input": 8, "output": 20}},
            "plain": {"input": 2, "output": 6},
            "written": {"input": 2, "cached": 0.5, "cache_write": 3, "output": 6},
        },
    }
}


def spent(step: int = 0, **tokens: int) -> Spent:
    counted = {
        "input_tokens": 0,
        "cached_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 0,
        "reasoning_tokens": 0,
    }
    return Spent(0, "codex", "up", "openai", "m", step, 1, 0, **{**counted, **tokens})


MILLIONS = {"input_tokens": 10_000_000, "cached_tokens": 4_000_000, "output_tokens": 1_000_000}
COSTS: dict[str, tuple[str, Spent, float]] = {
    "cached tokens are a part of the input and cost less": ("big", spent(**MILLIONS), 6 * 4 + 4 * 1 + 10),
    "a long request has its own rates": ("big", spent(200_000, **MILLIONS), 10 * 8 + 20),
    "a longer one as well": ("big", spent(512_000, **MILLIONS), 10 * 8 + 20),
    "without a price of their own they cost what input costs": ("plain", spent(**MILLIONS), 10 * 2 + 6),
    "what was written to the cache is a part of the input": (
        "written",
        spent(**MILLIONS, cache_write_tokens=3_000_000),
        3 * 2 + 4 * 0.5 + 3 * 3 + 6,
    ),
    "reasoning is a part of the output": ("plain", spent(output_tokens=1_000_000, reasoning_tokens=900_000), 6),
    "more cached than read is no refund": ("plain", spent(input_tokens=0, cached_tokens=0), 0),
}


@pytest.mark.parametrize(("model", "sum_", "dollars"), COSTS.values(), ids=COSTS)
def test_every_token_costs_once(model: str, sum_: Spent, dollars: float) -> None:
    price = Prices({}, TABLE).of("up", "openai", model)
    assert price is not None
    assert price.cost(sum_) == pytest.approx(dollars)


def test_the_configuration_goes_before_the_table_and_the_address_before_the_name() -> None:
    own = {"up/big": Given(1, 2), "big": Given(3, 4, cached=0), "mine": Given(0, 0)}
    prices = Prices(own, TABLE)
    first, second, third = (prices.of(name, "openai", "big") for name in ("up", "other", "third"))
    assert first is not None and second is not None and second == third
    assert (first.rates.input, first.rates.cached, first.source) == (1, 1, "usage.prices")
    assert (second.rates.input, second.rates.cached) == (3, 0)
    assert prices.of("local", "openai-compatible", "mine") is not None
    assert Prices({"demo": Given(1, 1)}, TABLE).of("d", "demo", "demo") != Prices({}, TABLE).of("d", "demo", "demo")


@pytest.mark.parametrize("model", ["plain-2026-04-23", "plain-20260423", "plain"])
def test_a_dated_version_costs_what_its_model_costs(model: str) -> None:
    price = Prices({}, TABLE).of("up", "openai", model)
    assert price is not None
    assert price.source == "openai of 2026-08-02 (https://prices.example)"


@pytest.mark.parametrize(
    ("kind", "model"),
    [("openai", "unknown"), ("openai", "plain-mini"), ("openai-compatible", "plain"), ("meta", "plain")],
)
def test_what_nobody_knows_has_no_price(kind: str, model: str) -> None:
    assert Prices({}, TABLE).of("up", kind, model) is None


@pytest.mark.parametrize("kind", sorted(FREE))
def test_models_on_ones_own_machine_cost_nothing(kind: str) -> None:
    price = Prices({}).of("local", kind, "anything")
    assert price is not None
    assert (price.cost(spent(**MILLIONS)), price.source) == (0.0, "")
    assert kind in {*TYPES, LOCAL}


def test_the_first_models_of_a_generation_have_their_price_under_either_name() -> None:
    """``claude-sonnet-4-20250514`` without its date is not ``claude-sonnet-4-0``, which is the same model."""
    prices = Prices({})
    for family in ("opus", "sonnet"):
        dated = prices.of("up", "anthropic", f"claude-{family}-4-20250514")
        assert dated is not None
        assert dated == prices.of("up", "anthropic", f"claude-{family}-4-0")


def test_the_table_in_the_package_is_dated_sourced_and_whole() -> None:
    table = load()
    assert table.keys() <= TYPES.keys() - FREE
    assert {"openai", "anthropic", "xai", "kimi", "deepseek", "gemini"} <= table.keys()
    for kind, section in table.items():
        assert date.fromisoformat(section["date"]) <= date(2026, 11, 29), kind
        assert section["page"].startswith("https://")
        assert section["sources"] and all(source.startswith("https://") for source in section["sources"])
        for model, row in section["models"].items():
            assert {"input", "output"} <= row.keys() <= {"input", "output", "cached", "cache_write", "above"}, model
            above = row.get("above")
            rates = [row, *([above] if above else [])]
            assert all(isinstance(value, int | float) and value >= 0 for each in rates for value in each.values()
                       if not isinstance(value, dict)), model  # fmt: skip
            assert row.get("cached", 0) <= row["input"] < row["output"] or model == "moonshotai/kimi-k2-instruct", model
            if above:
                assert above["tokens"] in STEPS, "attempts are only kept apart at these"
                assert above["input"] > row["input"], model
