"""What raw runs say, read from their bytes."""

from __future__ import annotations

import json

import pytest

from translators.events import Run
from translators.runs import names_item, texts_of

KIND = "response.function_call_arguments.delta"


def run(*deltas: object, item: str = "fc_1", **more: object) -> Run:
    bodies = [{"type": KIND, "item_id": item, "delta": delta, **more} for delta in deltas]
    block = "".join(f"event: {KIND}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n" for body in bodies)
    return Run(KIND, block.encode(), len(deltas), None)


@pytest.mark.parametrize("texts", [["a"], ['{"x": "', 'ü\\"', "\n"], ['"delta":"x"']])
def test_texts_come_back_as_they_were(texts: list[str]) -> None:
    assert texts_of(run(*texts)) == texts


@pytest.mark.parametrize("broken", [run("a", 7), run("a", note={"delta": "b"})])
def test_a_run_that_does_not_say_one_text_per_frame_says_none(broken: Run) -> None:
    assert texts_of(broken) is None


def test_an_item_is_named_by_every_frame_or_not_at_all() -> None:
    assert names_item(run("a", "b"), "fc_1")
    assert not names_item(run("a", "b"), "fc_2")
    mixed = Run(KIND, run("a").block + run("b", item="fc_2").block, 2, None)
    assert not names_item(mixed, "fc_1")
