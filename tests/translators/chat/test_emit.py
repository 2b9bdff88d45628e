"""The emitter counts indices and merges adjacent deltas of one part."""

from __future__ import annotations

from translators.chat.emit import Emitter
from translators.events import Deltas, Event

TEXT = "response.output_text.delta"


def test_items_count_up_from_the_first_index_and_carry_their_id() -> None:
    emit = Emitter("abc", 3)
    assert not emit.started
    assert emit.open({"type": "message", "content": []}) == (3, "msg_abc_3")
    assert emit.open({"type": "function_call"}) == (4, "fc_abc_4")
    assert emit.started
    assert emit.take() == [
        Event(
            "response.output_item.added",
            {
                "type": "response.output_item.added",
                "output_index": 3,
                "item": {"id": "msg_abc_3", "type": "message", "content": []},
            },
        ),
        Event(
            "response.output_item.added",
            {
                "type": "response.output_item.added",
                "output_index": 4,
                "item": {"id": "fc_abc_4", "type": "function_call"},
            },
        ),
    ]


def test_adjacent_deltas_of_one_part_share_an_event_until_they_are_taken() -> None:
    emit = Emitter("s", 0)
    for text in ("a", "", "b"):
        emit.delta(TEXT, "i", 0, 0, text)
    emit.delta(TEXT, "i", 0, 1, "c")
    emit.delta(TEXT, "j", 1, 1, "d")
    assert emit.run_of(TEXT) == ["d"]
    assert emit.take() == [
        Deltas(TEXT, "i", 0, 0, ["a", "b"]),
        Deltas(TEXT, "i", 0, 1, ["c"]),
        Deltas(TEXT, "j", 1, 1, ["d"]),
    ]
    assert emit.run_of(TEXT) is None
    emit.delta(TEXT, "j", 1, 1, "e")
    emit.done(1)
    assert emit.run_of(TEXT) is None
    assert emit.take() == [
        Deltas(TEXT, "j", 1, 1, ["e"]),
        Event("response.output_item.done", {"type": "response.output_item.done", "output_index": 1}),
    ]
