"""What leaves of a call's arguments while they stream."""

from __future__ import annotations

import pytest

from translators.holding import Gate


def through(fragments: list[str], final: str) -> tuple[list[str], str]:
    gate = Gate()
    return [gate.feed(fragment) for fragment in fragments], gate.rest(final)


@pytest.mark.parametrize(
    ("fragments", "left", "rest"),
    [
        (['{"a"', ":1", "}"], ['{"a"', ":1", ""], "}"),
        (['{"a":1}'], [""], '{"a":1}'),
        (['{"a":{"b":[1]', "}", "}", " "], ['{"a":{"b":[1]', "}", "", ""], "} "),
        (['{"a":"}', '\\"}', "\\", '\\"', "}"], ['{"a":"}', '\\"}', "\\", '\\"', ""], "}"),
        (["", " ", '{"a"', ":1}"], ["", "", ' {"a"', ""], ":1}"),
        (['{"n":1', ".0", "}"], ['{"n":1', "", ""], ".0}"),
        (['"{', '\\"a\\":1}"'], ["", ""], '"{\\"a\\":1}"'),
    ],
)
def test_all_but_what_completes_the_object_passes(fragments: list[str], left: list[str], rest: str) -> None:
    assert through(fragments, "".join(fragments)) == (left, rest)


def test_what_was_rewritten_behind_the_gate_leaves_rewritten() -> None:
    assert through(['{"n":1', ".0}"], '{"n":1}') == (['{"n":1', ""], "}")
    assert through(['"{}"'], "{}") == ([""], "{}")
    assert through([], "{}") == ([], "{}")


def test_what_was_rewritten_before_the_gate_leaves_as_it_was_written() -> None:
    assert through(['{ "n": 1', ".0 }"], '{"n":1}') == (['{ "n": 1', ""], ".0 }")


def test_a_second_object_stays_behind_too() -> None:
    assert through(['{"a":1', "}", '{"b":2}'], '{"a":1}{"b":2}')[0] == ['{"a":1', "", ""]
