"""Items of the proxy's own between two rounds."""

from __future__ import annotations

import pytest

from agentic_proxy.config.model import Limits
from agentic_proxy.engine.pipeline import Pipeline
from support.breaks import WHOLE
from support.streams import events_of, public
from translators.failure import Failure
from translators.registry import UPSTREAMS
from translators.responses.encode import ResponsesEncoder

ITEM = {"id": "cmp_1", "type": "compaction", "encrypted_content": "SEALED"}


def pipeline(*, streams: bool = True) -> Pipeline:
    return Pipeline(public(), ResponsesEncoder() if streams else None, Limits())


def test_an_item_is_opened_without_its_content_and_ended_with_it() -> None:
    made = pipeline()
    assert made.next_item_id("compaction") == f"cmp_{made.public.suffix}_0"
    events = events_of(made.insert(ITEM))
    assert [(event["type"], event.get("item")) for event in events] == [
        ("response.created", None),
        ("response.in_progress", None),
        ("response.output_item.added", {**ITEM, "encrypted_content": ""}),
        ("response.output_item.done", ITEM),
    ]
    assert made.output() == [ITEM]
    assert made.next_item_id("compaction").endswith("_1")


def test_a_held_item_ends_with_the_response() -> None:
    made = pipeline()
    assert [event["type"] for event in events_of(made.insert(ITEM, held=True))][-1] == "response.output_item.added"
    ending = events_of(made.complete("response.completed", made.public.object("completed", made.output())))
    assert [event["type"] for event in ending] == ["response.output_item.done", "response.completed", "[DONE]"]
    assert ending[0]["item"] == ITEM


@pytest.mark.parametrize("streams", [True, False])
def test_attempts_that_follow_may_still_take_over_and_their_items_come_behind(streams: bool) -> None:
    made = pipeline(streams=streams)
    data = made.insert(ITEM)
    assert not made.lifecycle.content
    for body in (b"", WHOLE["responses"]):
        made.begin(UPSTREAMS["responses"], None, "house")
        if body:
            data += made.feed(body)
        else:
            with pytest.raises(Failure):
                made.end_of_body()
    assert made.closed is not None
    data += made.settle(made.closed)
    assert [item["type"] for item in made.output()] == ["compaction", "message"]
    if streams:
        indices = [event["output_index"] for event in events_of(data) if event["type"] == "response.output_item.added"]
        assert indices == [0, 1]
