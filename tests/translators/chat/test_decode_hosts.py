"""What single hosts send in a Chat stream: cumulative deltas, details of reasoning, things beside a call."""

from __future__ import annotations

import pytest

from support.chat_stream import DONE, call, calls, chunk, outline, run, splits
from translators.chat.decode import ChatDecoder

STOP = chunk("stop")


def chat(*, cumulative: bool = False) -> ChatDecoder:
    return ChatDecoder(suffix="s", max_arguments=1000, cumulative=cumulative)


REPEATED = (
    chunk(reasoning_content="think")
    + chunk(reasoning_content="thinking hard")
    + chunk(content="one")
    + chunk(content="one")
    + chunk(content="one, two")
    + chunk(content=" three")
    + STOP
    + DONE
)


def test_deltas_that_repeat_everything_before_them_give_their_new_ends() -> None:
    for _, pieces in splits(REPEATED):
        texts = [
            "".join(event[3:])
            for event in outline(run(pieces, chat(cumulative=True)))
            if event[0] in ("summary", "text")
        ]
        assert "".join(texts) == "thinking hardone, two three"


def test_elsewhere_every_delta_is_new() -> None:
    texts = ["".join(event[3:]) for event in outline(run([REPEATED], chat())) if event[0] == "text"]
    assert texts == ["oneoneone, two three"]


@pytest.mark.parametrize("per", [0, 1, 2])
def test_details_and_what_stands_beside_a_call_are_kept_as_they_came(per: int) -> None:
    first = {"type": "reasoning.text", "index": 0, "text": "a", "signature": None}
    second = {"type": "reasoning.encrypted", "index": 1, "data": "blob"}
    extra = {"google": {"thought_signature": "sig"}}
    data = chunk(reasoning_details=[first, second, "odd"]) + calls(
        call(index=0, id="a", name="f", arguments="{}", extra_content=extra),
        call(index=1, id="b", name="f", arguments="{}", extra_content="odd"),
        finish="tool_calls",
    )
    made = chat()
    run([pieces for _, pieces in splits(data + DONE)][per], made)
    assert made.details == [first, second]
    assert made.extras == {"a": {"extra_content": extra}}
