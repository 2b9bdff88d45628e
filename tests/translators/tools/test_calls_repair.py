"""Calls of apply_patch in each mode: repaired, handed on as they are, or kept until somebody decides."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from support.streams import tools
from translators.events import Deltas
from translators.tools.calls import (
    ARGUMENTS_DELTA,
    DEFAULT,
    DRIFTED,
    INPUT_DELTA,
    INPUT_DONE,
    Bridge,
    CustomCall,
    open_call,
)

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+a line of an added file, long enough to be shown\n*** End Patch"


def opened(bridge: Bridge = DEFAULT, name: str = "apply_patch") -> CustomCall:
    item = {"type": "function_call", "id": "fc_7", "call_id": "c", "name": name, "arguments": ""}
    call = open_call(item, 4, tools().by_flat["apply_patch"], bridge)
    assert isinstance(call, CustomCall)
    assert call.added() == []
    return call


def streamed(call: CustomCall, *texts: str) -> list[str]:
    events = call.deltas(Deltas(ARGUMENTS_DELTA, "fc_7", 4, None, list(texts)))
    return [text for event in events if isinstance(event, Deltas) for text in event.texts]


BROKEN = PATCH.removeprefix("*** Begin Patch\n")


def test_a_repaired_patch_says_by_which_rules() -> None:
    call = opened()
    assert streamed(call, json.dumps({"patch": BROKEN})) == []
    events = call.finish(None, "completed")
    assert [event.kind for event in events] == [
        "response.output_item.added", INPUT_DELTA, INPUT_DONE, "response.output_item.done",
    ]  # fmt: skip
    assert (call.item["input"], call.rules, call.defect) == (PATCH, ("other_key", "missing_begin"), None)


def test_rules_that_are_switched_off_repair_nothing() -> None:
    call = opened(Bridge(rules={"missing_begin": False}))
    streamed(call, json.dumps({"input": BROKEN}))
    assert call.finish(None, "completed") == []
    assert call.rules == () and call.defect is not None


@pytest.mark.parametrize("mode", ["strict", "pass"])
def test_other_modes_hand_on_what_is_in_a_good_envelope_and_refuse_a_bad_one(mode: Literal["strict", "pass"]) -> None:
    good, bad = opened(Bridge(mode)), opened(Bridge(mode))
    assert streamed(good, json.dumps({"input": BROKEN})) == [BROKEN]
    assert [event.kind for event in good.finish(None, "completed")] == [INPUT_DONE, "response.output_item.done"]
    assert good.item["input"] == BROKEN
    assert streamed(bad, json.dumps({"patch": PATCH})) == []
    assert bad.finish(None, "completed") == [] and bad.refused is not None


def test_what_is_no_patch_waits_for_a_decision_unless_it_was_shown() -> None:
    unseen, seen = opened(), opened()
    streamed(unseen, json.dumps({"input": "rm -rf /"}))
    assert unseen.finish(None, "completed") == []
    assert unseen.defect == "line 1, column 1: the first line is not `*** Begin Patch`"
    assert [event.kind for event in unseen.parked] == [
        "response.output_item.added", INPUT_DELTA, INPUT_DONE, "response.output_item.done",
    ]  # fmt: skip
    text = json.dumps({"input": PATCH.replace("*** End", "no sign\n*** End")})
    assert streamed(seen, text[:95], text[95:]) != []
    assert [event.kind for event in seen.finish(None, "completed")] == [INPUT_DONE, "response.output_item.done"]
    assert seen.shown and seen.parked == [] and seen.defect is not None


@pytest.mark.parametrize("final", ["applypatch", "apply_patch"])
def test_a_call_under_a_usual_wrong_name_is_counted_as_such(final: str) -> None:
    call = opened(name="applypatch")
    streamed(call, json.dumps({"patch": PATCH}))
    call.finish({"name": final}, "completed")
    assert (call.refused, call.rules, call.item["name"]) == (None, (DRIFTED, "other_key"), "apply_patch")
