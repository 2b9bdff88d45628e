"""Items show themselves in their order; those behind an unseen one wait."""

from __future__ import annotations

from translators.events import Deltas, Event, Run, StreamEvent
from translators.order import Order

TEXT = "response.output_text.delta"


def event(index: int | None, name: str = "e") -> Event:
    return Event(name, {} if index is None else {"output_index": index})


def test_nothing_waits_when_every_item_has_shown_itself() -> None:
    events: list[StreamEvent] = [event(1), event(0)]
    assert Order().take(events) is events


def test_what_stands_behind_an_unseen_item_waits_for_its_first_event() -> None:
    order = Order()
    order.hide(1)
    before, none, deltas = event(0), event(None), Deltas(TEXT, "m", 2, 0, ["x"])
    run = Run(TEXT, b'event: x\ndata: {"output_index": 3,"delta":"a"}\n\n', 1, None)
    strange = Run("response.strange.delta", b'event: x\ndata: {"delta":"a"}\n\n', 1, None)
    assert order.take([before, deltas, none, run, strange]) == [before, none, strange]
    assert order.first_unseen == 1
    first = event(1)
    assert order.take([first, before]) == [first, deltas, run, before]
    assert order.take([run]) == [run]


def test_an_item_that_waited_for_another_counts_as_shown_with_its_first_event() -> None:
    order = Order()
    for index in (0, 1, 2):
        order.hide(index)
    zero, one, two, three = (event(index) for index in range(4))
    assert order.take([three, one]) == []
    assert order.take([zero]) == [zero, one]
    assert order.first_unseen == 2
    assert order.take([two]) == [two, three]


def test_what_waited_is_forgotten_with_a_round_that_is_taken_back() -> None:
    order = Order()
    order.hide(0)
    assert order.take([event(1)]) == []
    order.clear()
    fresh = event(1)
    assert order.take([fresh]) == [fresh]
