"""A continued history has an output for every call and a call for every output."""

from __future__ import annotations

from typing import Any

import pytest

from translators.events import Json
from translators.failure import Failure
from translators.responses.pairs import OUTPUT_OF, check_pairs

LATER: dict[str, Any] = {"async": True}
AT_ONCE: dict[str, Any] = {"async": False}
USER: Json = {"type": "message", "role": "user", "content": "hi"}


def call(kind: str = "function_call", call_id: str = "c1", **more: Any) -> Json:
    return {"type": kind, "call_id": call_id, **more}


def answer(kind: str = "function_call", call_id: str = "c1") -> Json:
    return {"type": OUTPUT_OF[kind], "call_id": call_id}


@pytest.mark.parametrize("kind", OUTPUT_OF)
def test_every_kind_of_call_is_answered_by_its_own_output(kind: str) -> None:
    check_pairs([USER, call(kind), answer(kind), USER])


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([call(), USER], "No tool output found for function call c1."),
        ([call(), call(call_id="c2"), answer()], "No tool output found for function call c2."),
        ([answer()], "No tool call found for function call output with call_id c1."),
        ([answer(), call()], "No tool call found for function call output with call_id c1."),
        ([call(**LATER), call(call_id="c2"), USER], "No tool output found for function call c2."),
        ([call(**LATER), answer(call_id="c3")], "No tool call found for function call output with call_id c3."),
        ([call(**AT_ONCE), USER], "No tool output found for function call c1."),
        ([call(), answer(), answer(call_id="c3")], "No tool call found for function call output with call_id c3."),
    ],
)
def test_the_first_call_or_output_without_its_other_half_is_named(items: list[Json], message: str) -> None:
    with pytest.raises(Failure) as caught:
        check_pairs(items)
    assert (caught.value.code, caught.value.message, caught.value.param) == ("invalid_request_error", message, "input")


@pytest.mark.parametrize(
    "items",
    [
        [],
        [USER],
        [{"type": "function_call"}],
        [call("tool_search_call", execution="server")],
        [call(), answer(), answer()],
        [call(**LATER), USER],
        [call("custom_tool_call", **LATER), USER, answer("custom_tool_call"), USER],
        [call(), call(call_id="c2"), answer(call_id="c2"), answer()],
    ],
)
@pytest.mark.requirement("NW5")
def test_what_has_no_other_half_to_miss_passes(items: list[Json]) -> None:
    check_pairs(items)
