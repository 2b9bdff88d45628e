"""One created, one in_progress, one terminal; numbers without gaps; held events."""

from __future__ import annotations

import orjson

from support.streams import public
from translators.events import Deltas, Event, Run
from translators.failure import Failure
from translators.items import PublicResponse
from translators.lifecycle import Lifecycle, Numbered

HEAD = [(0, "response.created"), (1, "response.in_progress")]
KIND = "response.output_text.delta"


def shown(numbered: list[Numbered]) -> list[tuple[int, str]]:
    return [(number, event.kind) for number, event in numbered]


def item_done(index: int, *, held: bool = False) -> Event:
    return Event("response.output_item.done", {"output_index": index, "item": {"id": f"i{index}"}}, held=held)


def test_the_first_event_is_preceded_by_created_and_in_progress() -> None:
    lifecycle = Lifecycle(public())
    assert lifecycle.take([]) == []
    assert shown(lifecycle.take([Event("a", {})])) == [*HEAD, (2, "a")]
    assert lifecycle.open() == []


def test_runs_and_deltas_take_as_many_numbers_as_they_have_frames() -> None:
    lifecycle = Lifecycle(public())
    events = [Deltas(KIND, "m", 0, 0, ["a", "b"]), Run(KIND, b"", 5, 1), Event("x", {})]
    assert shown(lifecycle.take([*events])) == [*HEAD, (2, KIND), (4, KIND), (9, "x")]


def test_held_events_wait_for_the_close_and_are_released_in_the_order_of_the_items() -> None:
    lifecycle = Lifecycle(public())
    last, second = Event("last", {}, held=True), Event("second", {"output_index": 1}, held=True)
    first, third = Event("first", {"output_index": 0}, held=True), Event("third", {"output_index": 1}, held=True)
    assert shown(lifecycle.take([last, second, Event("a", {}), third, first])) == [*HEAD, (2, "a")]
    assert shown(lifecycle.close("response.completed", {})) == [
        (3, "first"), (4, "second"), (5, "third"), (6, "last"), (7, "response.completed"),
    ]  # fmt: skip


def test_only_held_events_are_no_content_yet() -> None:
    lifecycle = Lifecycle(public())
    assert shown(lifecycle.take([Event("held", {}, held=True)])) == HEAD
    assert not lifecycle.content
    lifecycle.take([Event("a", {})])
    assert lifecycle.content


def test_a_failure_drops_what_was_held_and_shows_what_has_left() -> None:
    lifecycle = Lifecycle(public())
    lifecycle.take([item_done(1), item_done(0), item_done(2, held=True)])
    ((number, terminal),) = lifecycle.fail(Failure("upstream_closed", "Gone."), {"total_tokens": 3})
    assert isinstance(terminal, Event)
    response = terminal.body["response"]
    assert (number, terminal.kind, response["status"]) == (4, "response.failed", "failed")
    assert response["output"] == [{"id": "i0"}, {"id": "i1"}]
    assert response["error"] == {"code": "upstream_closed", "message": "Gone."}
    assert response["usage"] == {"total_tokens": 3}


def test_a_failure_before_anything_is_a_whole_stream() -> None:
    assert shown(Lifecycle(public()).fail(Failure("upstream_empty", "Nothing."))) == [*HEAD, (2, "response.failed")]


def test_nothing_passes_after_the_end() -> None:
    lifecycle = Lifecycle(public())
    lifecycle.close("response.completed", {})
    assert lifecycle.take([Event("a", {})]) == []
    assert lifecycle.keepalive() == []
    assert lifecycle.close("response.completed", {}) == []
    assert lifecycle.fail(Failure("internal_error", "late")) == []


def test_an_end_that_never_left_is_taken_back_with_its_numbers() -> None:
    unopened, opened = Lifecycle(public()), Lifecycle(public())
    opened.take([Event("a", {})])
    for lifecycle, expected in ((unopened, [*HEAD, (2, "response.failed")]), (opened, [(3, "response.failed")])):
        lifecycle.close("response.completed", {})
        lifecycle.reopen()
        assert shown(lifecycle.fail(Failure("store_failed", "Full."))) == expected


def test_a_keepalive_takes_a_number_once_the_response_is_open() -> None:
    lifecycle = Lifecycle(public())
    assert lifecycle.keepalive() == []
    lifecycle.open()
    assert shown(lifecycle.keepalive()) == [(2, "keepalive")]
    assert not lifecycle.content
    assert shown(lifecycle.take([Event("a", {})])) == [(3, "a")]


def test_a_background_response_is_queued_first() -> None:
    opened = Lifecycle(PublicResponse("resp_1", 7, "m", {"background": True})).open()
    assert [(number, event.kind) for number, event in opened if isinstance(event, Event)] == [
        (0, "response.created"), (1, "response.queued"), (2, "response.in_progress"),
    ]  # fmt: skip
    shown = [orjson.loads(orjson.dumps(event.body["response"])) for _, event in opened if isinstance(event, Event)]
    assert [(response["status"], response["background"]) for response in shown] == [
        ("queued", True), ("queued", True), ("in_progress", True),
    ]  # fmt: skip
