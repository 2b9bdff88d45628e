"""Functions that a model called with more than their name."""

from __future__ import annotations

import pytest

from translators.tools.spoken_names import meant

DECLARED = ("get_weather", "exec", "exec:1")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_weather<|channel|>commentary", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("functions.get_weather:0", "get_weather"),
        ("functions.get_weather<|constrain|>json", "get_weather"),
        ("get_weather ", "get_weather"),
        ("\nexec", "exec"),
        ("exec:2", "exec"),
        ("exec:1", None),
        ("exec", None),
        ("<|constrain|>json", None),
        ("functions.get_wether", None),
        ("Get_weather", None),
        ("get_weather.exec", None),
        ("", None),
    ],
)
def test_only_a_declared_name_with_something_around_it_is_taken_for_it(name: str, expected: str | None) -> None:
    assert meant(name, DECLARED) == expected
