"""Candidates: which (target, credential) pairs may serve a turn, and in which order. Pure policy.

Pairs stand in tiers: a model's own targets before those of its fallbacks, a higher provider priority before a lower
one. Within a tier the strategy orders: ``fill-first`` by the file, ``round-robin`` each pair in turn, ``weighted`` each
as often as its provider's weight says, shared by the provider's keys.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentic_proxy.config.model import Strategy
from agentic_proxy.config.secrets import Secret
from agentic_proxy.routing.models import Target

ROTATIONS_KEPT: Final = 1024
"""Tiers whose turn is remembered, the least recently used goes first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A target and one of its provider's keys: ``number`` counts from 1, 0 means that the provider has none."""

    target: Target
    number: int

    @property
    def name(self) -> tuple[str, str, int]:
        """What tells it from other candidates."""
        return self.target.provider.name, self.target.upstream_model, self.number

    @property
    def credential(self) -> Secret | None:
        """The key that it is asked with."""
        return self.target.provider.api_keys[self.number - 1] if self.number else None

    @property
    def key(self) -> str:
        """The key for people, never its text: ``key 2 of 3``; empty where there is nothing to tell apart."""
        count = len(self.target.provider.api_keys)
        return f"key {self.number} of {count}" if count > 1 else ""

    @property
    def weight(self) -> float:
        """This pair's share of its provider's weight."""
        return self.target.provider.weight / max(1, len(self.target.provider.api_keys))


def expand(targets: Iterable[Target]) -> list[Candidate]:
    """Every pair, in the order of the targets and of their providers' keys."""
    return [
        Candidate(target, number)
        for target in targets
        for number in (range(1, len(target.provider.api_keys) + 1) if target.provider.api_keys else (0,))
    ]


def fitting(candidates: list[Candidate], size: Callable[[], int]) -> list[Candidate]:
    """Those whose context window, where it is known, holds ``size()`` estimated tokens; all of them where none does."""
    windows = [each.target.model.context_window if each.target.model else None for each in candidates]
    if len(candidates) < 2 or not any(windows):
        return candidates
    tokens = size()
    fits = [each for each, window in zip(candidates, windows, strict=True) if window is None or window >= tokens]
    return fits or candidates


class Rotation:
    """Whose turn it is in each tier. Smooth weighted round-robin: of a, a, b the order is a, b, a."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._tiers: OrderedDict[tuple[tuple[str, str, int], ...], dict[tuple[str, str, int], float]] = OrderedDict()

    def order(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """All candidates, first choice first; the next call of the same ones may begin with another."""
        tiers: dict[tuple[int, int], list[Candidate]] = {}
        for each in candidates:
            tiers.setdefault((each.target.level, -each.target.provider.priority), []).append(each)
        return [each for tier in sorted(tiers) for each in self._within(tiers[tier])]

    def _within(self, tier: list[Candidate]) -> list[Candidate]:
        if self._strategy == "fill-first" or len(tier) == 1:
            return tier
        names = tuple(each.name for each in tier)
        credit = self._tiers.setdefault(names, dict.fromkeys(names, 0.0))
        self._tiers.move_to_end(names)
        if len(self._tiers) > ROTATIONS_KEPT:
            self._tiers.popitem(last=False)
        total = 0.0
        for each in tier:
            weight = each.weight if self._strategy == "weighted" else 1.0
            credit[each.name] += weight
            total += weight
        ranked = sorted(tier, key=lambda each: -credit[each.name])
        credit[ranked[0].name] -= total
        return ranked
