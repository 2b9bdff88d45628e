"""Which pairs of target and key there are, and in which order they are asked."""

from __future__ import annotations

from collections import Counter

import pytest

from agentic_proxy.config.model import Model, Provider, Strategy
from agentic_proxy.config.secrets import Secret
from agentic_proxy.routing.candidates import ROTATIONS_KEPT, Candidate, Rotation, expand, fitting
from agentic_proxy.routing.models import Target


def target(
    name: str, keys: int = 1, *, level: int = 0, priority: int = 0, weight: int = 1, window: int | None = None
) -> Target:
    secrets = tuple(Secret(f"key-{name}-{number}") for number in range(keys))
    made = Provider(name, "openai", f"http://{name}/v1", api_keys=secrets, priority=priority, weight=weight)
    return Target(made, Model("m", context_window=window), "m", level)


def names(candidates: list[Candidate]) -> list[str]:
    return [f"{each.target.provider.name}{each.number}" for each in candidates]


def test_every_key_of_a_provider_is_a_candidate_of_its_own_and_none_is_one_too() -> None:
    candidates = expand([target("a", 2), target("b", 0), target("c", 1)])
    assert names(candidates) == ["a1", "a2", "b0", "c1"]
    assert [each.credential.reveal() if each.credential else None for each in candidates] == [
        "key-a-0", "key-a-1", None, "key-c-0",
    ]  # fmt: skip
    assert [each.key for each in candidates] == ["key 1 of 2", "key 2 of 2", "", ""]


@pytest.mark.parametrize(
    ("windows", "size", "left"),
    [
        ((100, 1000), 500, ["b1"]),
        ((100, None), 500, ["b1"]),
        ((1000, 100), 500, ["a1"]),
        ((100, 200), 500, ["a1", "b1"]),
        ((None, None), 500, ["a1", "b1"]),
        ((500, 499), 500, ["a1"]),
    ],
)
def test_a_context_window_that_is_too_small_is_passed_over_unless_all_are(
    windows: tuple[int | None, int | None], size: int, left: list[str]
) -> None:
    candidates = expand([target(name, window=window) for name, window in zip("ab", windows, strict=True)])
    assert names(fitting(candidates, lambda: size)) == left


def test_nothing_is_measured_where_nothing_can_be_chosen() -> None:
    def never() -> int:
        raise AssertionError("measured")

    alone = expand([target("a", window=1)])
    assert fitting(alone, never) is alone
    unknown = expand([target("a"), target("b")])
    assert fitting(unknown, never) is unknown


def firsts(strategy: Strategy, targets: list[Target], turns: int) -> list[str]:
    rotation, candidates = Rotation(strategy), expand(targets)
    return [names(rotation.order(candidates))[0] for _ in range(turns)]


def test_fill_first_always_begins_with_the_first() -> None:
    assert firsts("fill-first", [target("a", 2), target("b")], 3) == ["a1", "a1", "a1"]


def test_round_robin_begins_with_each_in_turn() -> None:
    assert firsts("round-robin", [target("a", 2), target("b", weight=9)], 6) == ["a1", "a2", "b1"] * 2


def test_weighted_begins_with_each_as_often_as_its_weight_says_evenly_spread() -> None:
    assert firsts("weighted", [target("a", weight=2), target("b")], 6) == ["a1", "b1", "a1"] * 2


def test_the_keys_of_a_provider_share_its_weight() -> None:
    counts = Counter(firsts("weighted", [target("a", 2, weight=2), target("b", weight=2)], 40))
    assert counts == {"a1": 10, "a2": 10, "b1": 20}


@pytest.mark.parametrize("strategy", ["fill-first", "round-robin", "weighted"])
def test_priority_goes_before_every_strategy_and_a_fallback_stands_behind(strategy: Strategy) -> None:
    targets = [target("fallback", level=1, priority=9), target("low"), target("high", 2, priority=5)]
    rotation, candidates = Rotation(strategy), expand(targets)
    for _ in range(3):
        order = names(rotation.order(candidates))
        assert sorted(order[:2]) == ["high1", "high2"]
        assert order[2:] == ["low1", "fallback1"]


def test_everybody_is_in_every_order_and_rotations_do_not_pile_up() -> None:
    rotation = Rotation("round-robin")
    for number in range(ROTATIONS_KEPT + 5):
        order = rotation.order(expand([target(f"p{number}"), target("b")]))
        assert len(order) == 2
    assert len(rotation._tiers) == ROTATIONS_KEPT
