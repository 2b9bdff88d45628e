"""Which output of a history belongs to which call."""

from __future__ import annotations

from typing import Any

import pytest

from translators.dialects.base import Dialect
from translators.links import linked
from translators.registry import UPSTREAMS

USER = {"role": "user", "content": "go on"}
SAID = {"type": "message", "role": "assistant", "content": "so"}


def call(call_id: Any, name: str = "f") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def out(call_id: Any, text: str = "") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


@pytest.mark.parametrize(
    ("items", "links"),
    [
        ([call("a"), call("b"), out("b"), out("a")], {0: 3, 1: 2}),
        ([call("a"), out("a"), call("a"), out("a")], {0: 1, 2: 3}),
        ([call("a"), call("a"), out("a"), out("a")], {0: 2, 1: 3}),
        ([call("a"), SAID, call("a"), out("a"), USER, out("a")], {0: 3, 2: 5}),
        ([call("a"), USER, call("a"), out("a")], {2: 3}),
        ([call("a"), USER, call("a"), call("a"), out("a"), out("a"), out("a")], {2: 4, 3: 5, 0: 6}),
        ([out("a"), call("a"), out("b"), out(None), out(["a"]), call(None), "no item"], {}),
    ],
)
def test_an_output_belongs_to_the_first_open_call_of_the_last_group_that_has_one(
    items: list[Any], links: dict[int, int]
) -> None:
    assert linked(items) == links


@pytest.mark.parametrize("wire", ["chat", "messages"])
@pytest.mark.requirement("NW11")
def test_calls_of_one_answer_with_the_same_id_keep_their_own_outputs(wire: str) -> None:
    items = [USER, call("c", "f"), call("c", "g"), out("c", "of f"), out("c", "of g")]
    body, _ = UPSTREAMS[wire].build({"input": items}, "m", Dialect())
    told = body["messages"][2:] if wire == "chat" else body["messages"][2]["content"]
    assert [each["content"] for each in told] == ["of f", "of g"]
