"""Calls in the client's own form: whole, untouched, their done events held."""

from __future__ import annotations

from typing import Any

import pytest

from translators.events import Deltas, Event, Run
from translators.tools.calls import INPUT_DELTA, INPUT_DONE
from translators.tools.native_calls import ClientCallItem, NativeCustomCall

Json = dict[str, Any]


def native(**more: object) -> NativeCustomCall:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "exec", "status": "in_progress"}
    return NativeCustomCall({**item, **more}, 2)


NATIVE_ENDS: dict[str, tuple[Json | None, Json | None, str | None]] = {
    "item": (None, {"input": "abc"}, "abc"),
    "empty input": (None, {"input": ""}, ""),
    "event": ({"input": "abc", "extra": 1}, None, "abc"),
    "both": ({"input": "abc"}, {"input": "abc", "status": "completed"}, "abc"),
    "streamed only": (None, None, "ab"),
    "incomplete item": ({"input": "abc"}, {"input": "abc", "status": "incomplete"}, None),
}


@pytest.mark.parametrize(("event", "final", "expected"), NATIVE_ENDS.values(), ids=NATIVE_ENDS)
def test_a_native_custom_call_ends_with_its_whole_input(
    event: Json | None, final: Json | None, expected: str | None
) -> None:
    call = native()
    call.deltas(Deltas(INPUT_DELTA, "ctc_1", 2, None, ["a", "b"]))
    if event is not None:
        assert call.event(Event(INPUT_DONE, event)) == []
    events = call.finish(final, "completed")
    if expected is None:
        assert events == [] and call.refused is not None
        return
    item = {
        "type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "exec", "status": "completed",
        "input": expected,
    }  # fmt: skip
    assert events == [
        Event(INPUT_DONE, {**(event or {}), "item_id": "ctc_1", "output_index": 2, "input": expected}, held=True),
        Event("response.output_item.done", {"output_index": 2, "item": item}, held=True),
    ]


def test_a_native_custom_call_that_was_cut_is_refused_unless_its_input_was_done() -> None:
    cut, whole = native(), native()
    whole.event(Event(INPUT_DONE, {"input": "x"}))
    assert cut.finish(None, "incomplete") == [] and cut.refused is not None
    assert len(whole.finish(None, "incomplete")) == 2 and whole.refused is None


def test_raw_runs_of_a_native_call_pass_untouched() -> None:
    run = Run(INPUT_DELTA, b"x", 1, 3)
    assert native().run(run, None) == [run]


def test_a_client_call_of_another_form_needs_its_final_item() -> None:
    item = {"type": "local_shell_call", "id": "l", "status": "in_progress"}
    final = {"type": "local_shell_call", "id": "l", "status": "completed", "action": {"command": ["ls"]}}
    good, cut = ClientCallItem(item, 0), ClientCallItem(item, 0)
    assert good.finish(final, "completed") == [
        Event("response.output_item.done", {"output_index": 0, "item": final}, held=True)
    ]
    assert cut.finish(None, "completed") == [] and cut.refused is not None
