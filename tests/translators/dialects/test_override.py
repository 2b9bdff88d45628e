"""Single fields of a dialect from plain data."""

from __future__ import annotations

from typing import Any

import pytest

from translators.dialects.base import Dialect
from translators.dialects.override import FIELDS, checked, override


def test_every_field_but_the_name_may_be_overridden() -> None:
    assert "name" not in FIELDS
    assert {"refused", "efforts", "effort_map", "tool_choice", "extra", "tool_limit"} <= set(FIELDS)
    assert override(Dialect(), {name: getattr(Dialect(), name) for name in FIELDS}) == Dialect()
    assert override(Dialect(), {}) == Dialect()


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        ("refused", ["stop"], frozenset({"stop"})),
        ("efforts", None, None),
        ("efforts", [], frozenset()),
        ("tool_limit", 5, 5),
        ("tool_limit", None, None),
        ("cache_key_field", "k", "k"),
        ("effort_map", {"a": "b"}, {"a": "b"}),
        ("extra", {"a": {"b": 1}}, {"a": {"b": 1}}),
        ("schema", ["no_bool"], frozenset({"no_bool"})),
        ("reasoning", "thinking", "thinking"),
        ("images", False, False),
        ("temperature_limit", 1, 1.0),
        ("temperature_limit", 1.5, 1.5),
    ],
)
def test_values_become_what_the_field_holds(name: str, value: Any, made: Any) -> None:
    assert checked(name, value) == made
    assert getattr(override(Dialect(), {name: value}), name) == made


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("refused", "stop", "must be a list"),
        ("refused", [1], "must be text"),
        ("schema", ["other"], "must be one of inline_refs, "),
        ("reasoning", "loud", "must be one of effort, object, thinking"),
        ("tool_limit", "5", "must be a whole number"),
        ("tool_limit", True, "must be a whole number"),
        ("images", 1, "must be true or false"),
        ("temperature_limit", True, "must be a number"),
        ("effort_map", [], "must be a mapping"),
        ("effort_map", {"a": 1}, "must be text"),
        ("placeholder", None, "must be text"),
    ],
)
def test_other_values_are_refused_in_plain_words(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        checked(name, value)
