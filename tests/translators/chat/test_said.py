"""Deltas that may repeat all that came before them."""

from __future__ import annotations

import pytest

from translators.chat.said import Said

CASES: dict[str, tuple[list[str], list[str]]] = {
    "each one new": (["Hel", "lo", " you"], ["Hel", "lo", " you"]),
    "each one repeats all": (["Hel", "Hello", "Hello you"], ["Hel", "lo", " you"]),
    "repeated once, then new": (["Hel", "Hello", " you", "Hello you!"], ["Hel", "lo", " you", "!"]),
    "the whole text once more": (["Hello", "Hello"], ["Hello", ""]),
    "long and different": (["Hel", "lo and good day"], ["Hel", "lo and good day"]),
    "shorter than what came before": (["Hello", "Hel"], ["Hello", "Hel"]),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_is_new_is_said(name: str) -> None:
    deltas, wanted = CASES[name]
    said = Said()
    assert [said.new(delta) for delta in deltas] == wanted


def test_short_deltas_are_not_put_together_one_by_one() -> None:
    said = Said()
    for number in range(1000):
        said.new(f"{number:04}")
    assert len(said._pieces) == 1000, "each kept as it came"
    assert said.new("".join(f"{number:04}" for number in range(1000)) + "end") == "end"
