"""A change of the reasoning in the middle of a conversation holds with every model."""

from __future__ import annotations

from typing import Any

import pytest

from translators.configuration_updates import applied
from translators.events import Note

ASKED = {"type": "message", "role": "user", "content": "hi"}


def update(**fields: Any) -> dict[str, Any]:
    return {"type": "configuration_update", **fields}


LOW, HIGH = update(reasoning={"effort": "low"}), update(id="cu_1", reasoning={"effort": "high"})


@pytest.mark.parametrize(
    ("fields", "items", "expected"),
    [
        ({}, [LOW, ASKED], {"reasoning": {"effort": "low"}}),
        ({"reasoning": {"effort": "medium", "summary": "auto"}}, [ASKED, LOW, ASKED, HIGH, ASKED],
         {"reasoning": {"effort": "high", "summary": "auto"}}),
        ({"reasoning": {"effort": "medium"}}, [update(reasoning={"effort": None})], {"reasoning": {"effort": None}}),
        ({"reasoning": None}, [update(reasoning={})], {"reasoning": {}}),
        ({"text": {"verbosity": "low"}}, [update(text={"verbosity": "high"}), update()],
         {"text": {"verbosity": "high"}}),
        ({"reasoning": {"effort": "low"}}, [update(reasoning="much", text=5)], {"reasoning": {"effort": "low"}}),
    ],
    ids=["first", "the_last_counts", "back_to_the_default", "nothing", "text", "nonsense"],
)  # fmt: skip
def test_updates_change_the_request_and_are_no_input(fields: Any, items: list[Any], expected: Any) -> None:
    body = {"model": "m", **fields, "input": items}
    before = repr(body)
    changed, notes = applied(body)
    assert changed == {"model": "m", **expected, "input": [item for item in items if item is ASKED]}
    places = [n for n, item in enumerate(items) if item is not ASKED]
    assert notes == [Note("configuration_update_applied", f"input[{n}]") for n in places]
    assert repr(body) == before


@pytest.mark.parametrize("given", [[ASKED, 7], "hi", None])
def test_a_request_without_updates_is_left_alone(given: Any) -> None:
    body = {"input": given}
    assert applied(body)[0] is body
    assert applied(body)[1] == []
