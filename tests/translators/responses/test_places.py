"""Which output_index an event belongs to, whatever an upstream leaves out or gets wrong."""

from __future__ import annotations

import pytest

from translators.responses.places import Places, index_of

Step = tuple[str, int | None, str | None, int]
ADD, END, ASK = "add", "end", "ask"

CASES: dict[str, list[Step]] = {
    "as it should be": [
        (ADD, 0, "a", 0), (ASK, 0, "a", 0), (ADD, 1, "b", 1), (ASK, 0, "a", 0), (END, 1, "b", 1), (END, 0, "a", 0),
    ],
    "no index": [
        (ADD, None, "a", 0), (ASK, None, "a", 0), (ADD, None, "b", 1), (ASK, None, "a", 0), (ASK, None, "b", 1),
        (END, None, "a", 0), (END, None, "b", 1),
    ],
    "neither index nor id": [
        (ADD, None, None, 0), (ASK, None, None, 0), (END, None, None, 0), (ADD, None, None, 1), (ASK, None, None, 1),
        (END, None, None, 1),
    ],
    "an index only at the start": [(ADD, 3, "a", 3), (ASK, None, "a", 3), (ASK, None, None, 3), (END, None, "a", 3)],
    "index 0 for all": [
        (ADD, 0, "a", 0), (ASK, 0, "a", 0), (END, 0, "a", 0), (ADD, 0, "b", 1), (ASK, 0, "b", 1), (ADD, 0, "c", 2),
        (ASK, 0, "c", 2), (ASK, 0, "b", 1), (END, 0, "c", 2), (END, 0, "b", 1),
    ],
    "index 0 for all, without ids": [
        (ADD, 0, None, 0), (ASK, 0, None, 0), (END, 0, None, 0), (ADD, 0, None, 1), (ASK, None, None, 1),
    ],
    "ends only": [(END, 0, "a", 0), (END, 1, "b", 1)],
    "ends only, no index": [(END, None, "a", 0), (END, None, "b", 1)],
    "ends only, index 0 for all": [(END, 0, "a", 0), (END, 0, "b", 1), (END, 0, "c", 2)],
    "one id for all": [(ADD, 0, "a", 0), (END, 0, "a", 0), (ADD, 1, "a", 1), (END, 1, "a", 1), (ASK, 0, "a", 0)],
    "the id changes on the way": [(ADD, 0, "a", 0), (ASK, 0, "x", 0), (END, 0, "y", 0)],
    "the end has a wrong index": [(ADD, 0, "a", 0), (ADD, 1, "b", 1), (END, 7, "a", 0)],
    "repeated frames": [(ADD, 0, "a", 0), (ADD, 0, "a", 0), (END, 0, "a", 0), (END, 0, "a", 0)],
    "gaps": [(ADD, 2, "a", 2), (ADD, 5, "b", 5), (ASK, 2, "a", 2)],
    "nothing was added": [(ASK, 4, "a", 4), (ASK, None, "a", 0)],
}  # fmt: skip


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_an_event_finds_its_item(steps: list[Step]) -> None:
    places = Places()
    for number, (what, index, identity, expected) in enumerate(steps):
        if what == ASK:
            found = places.find({"output_index": index, "item_id": identity})
        else:
            found = places.place({"output_index": index, "item": {"id": identity}}, done=what == END)
        assert found == expected, number


@pytest.mark.parametrize("identity", [None, 3, [], {}, ""])
def test_an_id_that_is_no_text_is_none(identity: object) -> None:
    places = Places()
    assert places.place({"output_index": 0, "item": {"id": identity}}, done=False) == 0
    assert places.find({"item_id": identity}) == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (7, 7), (-1, None), (True, None), (1.0, None), ("1", None), (None, None), ([], None), (1 << 31, None)],
)
def test_an_index_is_a_small_whole_number(value: object, expected: int | None) -> None:
    assert index_of(value) == expected
