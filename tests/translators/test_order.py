"""Items show themselves in their order; those behind an unseen one wait."""

from __future__ import annotations

import pytest

from translators.events import Deltas, Event, Run, StreamEvent
from translators.failure import Failure
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


def gated(index: int, limit: int = 4000) -> Order:
    order = Order(limit)
    order.hide(index)
    order.gate(index)
    return order


def test_what_waited_behind_a_gate_leaves_in_the_order_of_the_items() -> None:
    order = gated(0)
    three, one, two = event(3), event(1), event(2)
    assert order.take([three, one, two]) == []
    assert order.is_first(0)
    end = event(0)
    assert order.pass_on(0, [end]) == [end, one, two, three]


def test_behind_a_gate_an_event_of_no_item_goes_last() -> None:
    order = gated(1)
    before, none, behind, end = event(0), event(None), event(2), event(1)
    assert order.take([before, none, behind]) == [before]
    assert order.pass_on(1, [end]) == [end, behind, none]
    assert order.take([none]) == [none]


def test_a_gate_behind_another_unseen_item_keeps_all_of_its_events() -> None:
    order = gated(1)
    order.hide(0)
    end, done, behind, first = event(1), event(1, "done"), event(2), event(0)
    assert order.take([behind]) == []
    assert order.pass_on(1, [end, done]) == []
    assert order.take([first]) == [first, end, done, behind]


def test_what_waits_behind_a_gate_is_bounded_and_counted_anew_behind_the_next() -> None:
    order = gated(0, 600)
    some = Deltas(TEXT, "m", 1, 0, ["x" * 300])
    assert order.take([some]) == []
    with pytest.raises(Failure) as caught:
        order.take([Deltas(TEXT, "m", 1, 0, ["x" * 300])])
    assert caught.value.code == "upstream_too_large"
    order = gated(0, 600)
    order.take([some])
    end = event(0)
    assert order.pass_on(0, [end]) == [end, some]
    order.hide(2)
    order.gate(2)
    assert order.take([Deltas(TEXT, "m", 3, 0, ["x" * 300])]) == []


def test_an_unseen_item_without_a_gate_has_no_such_limit() -> None:
    order = Order(10)
    order.hide(0)
    assert order.take([Deltas(TEXT, "m", 1, 0, ["x" * 300])]) == []
