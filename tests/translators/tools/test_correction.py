"""What a model is told about its own call."""

from __future__ import annotations

import json

import pytest

from support.streams import tools
from translators.events import Deltas
from translators.openitem import OpenItem
from translators.tools.calls import ARGUMENTS_DELTA, Bridge, Call, open_call
from translators.tools.correction import PATCH_SHAPE, WROTE_LIMIT, ask_again

HIDDEN = Bridge(live=False)


def ended(flat: str, wrote: str, name: str | None = None) -> Call:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name or flat, "arguments": ""}
    call: OpenItem = open_call(item, 0, tools().by_flat.get(flat), HIDDEN)
    call.deltas(Deltas(ARGUMENTS_DELTA, "fc_1", 0, None, [wrote]))
    assert call.finish(None, "completed") == []
    assert isinstance(call, Call)
    return call


CASES: dict[str, tuple[str, str, str, str]] = {
    "a patch call with another shape": (
        "apply_patch", '{"input":7}', '{"input":7}',
        "This call was not run: `input` is not a string. Call apply_patch again with one complete JSON object that has "
        f"exactly one key, input, holding the whole patch as a string. The patch has this form:\n{PATCH_SHAPE}",
    ),
    "text that is no patch": (
        "apply_patch", '{"input":"rm x"}', '{"input":"rm x"}',
        "This call was not run. Its input is not a patch (line 1, column 1: the first line is not `*** Begin Patch`). "
        f"Call apply_patch again with the whole patch in this form:\n{PATCH_SHAPE}",
    ),
    "code that was cut off": (
        "functions__exec", '{"input":"le', '{"not_an_object":"{\\"input\\":\\"le"}',
        "This call was not run: the arguments end before the object is complete. Call functions__exec again with one "
        "complete JSON object that has exactly one key, input, holding the whole text as a string.",
    ),
    "a function with a list": (
        "mcp__files__read", "[1]", '{"not_an_object":"[1]"}',
        "This call was not run: the arguments are not a JSON object. Call mcp__files__read again with one complete "
        "JSON object that fits its parameters.",
    ),
    "a function nobody declared": (
        "invented", "{", '{"not_an_object":"{"}',
        "This call was not run: the arguments are not valid JSON. Call invented again with one complete JSON object "
        "that fits its parameters.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("flat", "wrote", "shown", "told"), CASES.values(), ids=CASES)
def test_a_model_sees_its_own_call_and_what_was_wrong_with_it(flat: str, wrote: str, shown: str, told: str) -> None:
    call, output = ask_again([ended(flat, wrote)])
    assert call == {"type": "function_call", "call_id": "call_1", "name": flat, "arguments": shown}
    assert output == {"type": "function_call_output", "call_id": "call_1", "output": told}


def test_a_drifted_name_is_set_right() -> None:
    call, output = ask_again([ended("apply_patch", "{}", name="applypatch")])
    assert call["name"] == "apply_patch" and "Call apply_patch again" in output["output"]


def test_a_very_long_call_is_not_shown_again() -> None:
    call, _ = ask_again([ended("functions__exec", '{"input":"' + "x" * WROTE_LIMIT)])
    assert call["arguments"] == "{}"


def test_half_a_surrogate_pair_does_not_reach_the_next_request() -> None:
    call, _ = ask_again([ended("functions__exec", '{"input":"\ud800')])
    assert json.loads(call["arguments"]) == {"not_an_object": '{"input":"?'}


def test_every_call_is_followed_by_its_own_output() -> None:
    items = ask_again([ended("apply_patch", "{}"), ended("functions__exec", "{}")])
    assert [(item["type"], item.get("name")) for item in items] == [
        ("function_call", "apply_patch"), ("function_call_output", None),
        ("function_call", "functions__exec"), ("function_call_output", None),
    ]  # fmt: skip
