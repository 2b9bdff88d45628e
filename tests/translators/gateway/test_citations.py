"""``[n]`` becomes an annotation that covers exactly those characters, however the text was cut."""

from __future__ import annotations

from typing import Any

import pytest

from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.gateway.citations import CitedText
from translators.gateway.own import Result
from translators.gateway.search import Sources

TEXT = "Tides turn at noon [1], says one; others doubt it [2][1]. Not [9], nor [x] nor [ 1]. Ünïcödé 🌊 [2]"
CITED = ["[1]", "[2]", "[1]", "[2]"]
URLS = {"[1]": "https://one.example/", "[2]": "https://two.example/"}
DELTA = "response.output_text.delta"


def sources() -> Sources:
    found = Sources()
    found.told(["q"], (Result("One", URLS["[1]"], "a"), Result("Two", URLS["[2]"], "b")))
    return found


def message() -> CitedText:
    return CitedText({"type": "message", "id": "msg_1", "status": "in_progress", "content": []}, 3, sources())


def final(text: str, **more: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": [], **more}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def annotations(events: list[StreamEvent]) -> list[Json]:
    return [
        event.body
        for event in events
        if isinstance(event, Event) and event.kind == "response.output_text.annotation.added"
    ]


def texts(events: list[StreamEvent]) -> list[str]:
    return [text for event in events if isinstance(event, Deltas) for text in event.texts]


def cuts() -> dict[str, list[str]]:
    halves = {f"at {place}": [TEXT[:place], TEXT[place:]] for place in range(len(TEXT) + 1)}
    return {"whole": [TEXT], "characters": list(TEXT), **halves}


@pytest.mark.parametrize("pieces", cuts().values(), ids=cuts())
@pytest.mark.parametrize("together", [True, False], ids=["one_read", "many_reads"])
def test_every_cut_of_the_text_gives_the_same_annotations(pieces: list[str], together: bool) -> None:
    item = message()
    out: list[StreamEvent] = []
    for piece in [pieces] if together else [[piece] for piece in pieces]:
        out += item.deltas(Deltas(DELTA, "msg_1", 3, 0, piece))
    out += item.finish(final(TEXT), "completed")
    found = annotations(out)
    assert "".join(texts(out)) == TEXT
    places = [(each["annotation"]["start_index"], each["annotation"]["end_index"]) for each in found]
    assert [TEXT[start:end] for start, end in places] == CITED
    assert [each["annotation"]["url"] for each in found] == [URLS[each] for each in CITED]
    assert [each["annotation_index"] for each in found] == [0, 1, 2, 3]
    assert {(each["item_id"], each["output_index"], each["content_index"]) for each in found} == {("msg_1", 3, 0)}
    assert item.item["content"][0]["annotations"] == [each["annotation"] for each in found]
    ends = {event.kind: event.body for event in out if isinstance(event, Event)}
    assert ends["response.content_part.done"]["part"]["annotations"] == item.item["content"][0]["annotations"]
    assert ends["response.output_item.done"]["item"] == item.item


def test_an_annotation_follows_the_delta_that_completes_it_and_comes_before_the_next() -> None:
    out = message().deltas(Deltas(DELTA, "msg_1", 3, 0, ["See [", "1", "] and", " more"]))
    shape = [event.texts if isinstance(event, Deltas) else event.kind for event in out if not isinstance(event, Run)]
    assert shape == [
        "response.content_part.added", ["See [", "1", "] and"], "response.output_text.annotation.added", [" more"],
    ]  # fmt: skip


def test_a_text_that_came_only_at_the_end_is_cited_too() -> None:
    item = message()
    out = item.finish(final("Noon [1]."), "completed")
    assert len(annotations(out)) == 1
    kinds = [event.kind for event in out if isinstance(event, Event | Deltas)]
    assert kinds.index("response.output_text.annotation.added") == kinds.index(DELTA) + 1
    assert item.item["content"][0]["annotations"][0]["start_index"] == 5


def test_an_index_in_a_program_is_no_citation() -> None:
    text = "```\nrow[1]\n``` but this [1]"
    item = message()
    item.deltas(Deltas(DELTA, "msg_1", 3, 0, [text]))
    item.finish(None, "completed")
    (only,) = item.item["content"][0]["annotations"]
    assert only["start_index"] == text.rindex("[1]")


def test_annotations_of_the_upstream_stay_before_ours() -> None:
    own = {"type": "file_citation", "file_id": "f"}
    item = message()
    item.deltas(Deltas(DELTA, "msg_1", 3, 0, ["x [1]"]))
    item.finish(final("x [1]", annotations=[own]), "completed")
    assert [each["type"] for each in item.item["content"][0]["annotations"]] == ["file_citation", "url_citation"]


def test_raw_runs_of_other_kinds_still_pass_untouched() -> None:
    assert DELTA not in CitedText.raw_kinds
    assert "response.refusal.delta" in CitedText.raw_kinds
