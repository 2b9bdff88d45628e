"""What a text was drawn from, between Chat and the hub, and on its way through the decoder."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from support.chat_stream import DONE, chunk, frame
from support.streams import play, public
from translators.chat.annotations import Annotations, to_chat, to_hub
from translators.chat.answer import whole
from translators.registry import CLIENTS

FLAT = {"type": "url_citation", "start_index": 0, "end_index": 2, "url": "https://a.example/", "title": "A"}
NESTED = {"type": "url_citation", "url_citation": {name: value for name, value in FLAT.items() if name != "type"}}
FILE = {"type": "file_citation", "file_id": "f"}


def test_a_citation_is_nested_in_chat_and_flat_in_the_hub() -> None:
    assert (to_chat(FLAT), to_hub(NESTED)) == (NESTED, FLAT)
    for odd in (FILE, "odd", None):
        assert to_chat(odd, 5) == odd
    assert to_chat({"type": "url_citation", "start_index": "x", "url": "u"}, 5)["url_citation"]["start_index"] == "x"


def test_where_a_citation_stands_counts_from_the_beginning_of_all_texts_in_chat() -> None:
    first, second = "Searching. 😀", "Cats [1]."
    cited = {**FLAT, "start_index": 5, "end_index": 8}
    items = [
        {"type": "message", "id": text, "content": [{"type": "output_text", "text": text, "annotations": given}]}
        for text, given in ((first, []), (second, [cited]))
    ]
    body = orjson.dumps({"object": "response", "status": "completed", "output": items})
    played = play([body], client="chat")
    assert played.failure is None
    said = ""
    told: list[Any] = []
    for line in played.data.splitlines():
        delta = orjson.loads(line[6:])["choices"][0]["delta"] if line.startswith(b"data: {") else {}
        said += delta.get("content") or ""
        told += delta.get("annotations") or []
    answered = orjson.loads(whole({**public().object("completed", items)}, {}))["choices"][0]["message"]
    for text, given in ((said, told), (answered["content"], answered["annotations"])):
        (place,) = (each["url_citation"] for each in given)
        assert text[place["start_index"] : place["end_index"]] == "[1]"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (FLAT, FLAT),
        (FILE, FILE),
        ({}, {}),
        ({"type": "url_citation"}, {**FLAT, "end_index": 0, "url": "", "title": ""}),
        ({"type": "url_citation", "url_citation": {"url": "u", "start_index": "1", "content": "c"}},
         {**FLAT, "end_index": 0, "url": "u", "title": "u", "content": "c"}),
        ({"type": "url_citation", "url_citation": "odd", "url": "u", "title": 1},
         {**FLAT, "end_index": 0, "url": "u", "title": "u", "url_citation": "odd"}),
    ],
)  # fmt: skip
def test_a_citation_has_all_its_fields_in_the_hub(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert to_hub(given) == expected


@pytest.mark.parametrize("odd", [None, "x", 1, {}, [None, "x", []]])
def test_what_is_no_list_of_objects_means_nothing(odd: Any) -> None:
    heard = Annotations()
    heard.hear(odd)
    assert not heard.waiting


def test_each_is_taken_once_and_half_a_character_in_it_breaks_nothing() -> None:
    heard = Annotations()
    heard.hear([NESTED, FILE, {**FILE, "title": "\ud83d"}])
    assert heard.take() == [FLAT, FILE, {**FILE, "title": "\ufffd"}]
    heard.hear([FLAT, NESTED, FILE])
    assert not heard.waiting and heard.take() == []


OTHER = {"type": "url_citation", "url_citation": {"url": "https://b.example/", "title": "B"}}
STREAMS = {
    "in chunks of their own": chunk(content="Hi.") + chunk(annotations=[NESTED]) + chunk(annotations=[OTHER]),
    "beside the text": chunk(content="Hi.", annotations=[NESTED, OTHER]),
    "before the text": chunk(annotations=[NESTED]) + chunk(content="Hi.") + chunk(annotations=[OTHER]),
    "again and again": chunk(content="Hi", annotations=[NESTED]) + chunk(content=".", annotations=[NESTED, OTHER]),
    "behind reasoning": chunk(reasoning="hm", annotations=[NESTED]) + chunk(content="Hi.", annotations=[OTHER]),
}


@pytest.mark.parametrize("body", STREAMS.values(), ids=STREAMS)
def test_annotations_of_an_upstream_are_those_of_its_text(body: bytes) -> None:
    played = play([body + chunk("stop") + DONE], upstream="chat")
    assert played.failure is None
    (message,) = [item for item in played.output if item["type"] == "message"]
    cited = [FLAT, to_hub(OTHER)]
    assert (message["content"][0]["text"], message["content"][0]["annotations"]) == ("Hi.", cited)
    told = [event for event in played.events if event["type"] == "response.output_text.annotation.added"]
    assert [(event["annotation_index"], event["annotation"]) for event in told] == list(enumerate(cited))


def test_annotations_of_a_whole_answer_are_those_of_its_text() -> None:
    body = {"choices": [{"message": {"content": "Hi.", "annotations": [NESTED]}, "finish_reason": "stop"}]}
    played = play([orjson.dumps(body)], upstream="chat")
    assert played.output[0]["content"][0]["annotations"] == [FLAT]


@pytest.mark.parametrize(("client", "told"), [("chat", b'"url_citation":{"start'), ("messages", b"citations_delta")])
@pytest.mark.parametrize("events", [0, 1, 2])
def test_each_is_told_once_also_where_only_the_final_text_names_it(client: str, told: bytes, events: int) -> None:
    cited = [FLAT, {**FLAT, "url": "https://b.example/"}]
    part = {"type": "output_text", "text": "Hi.", "annotations": cited}
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
    body = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": "Hi."},
        *({"type": "response.output_text.annotation.added", **place, "annotation": each} for each in cited[:events]),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
    ]
    played = play([frame(each) for each in body], client=client)
    assert (played.failure, played.data.count(told)) == (None, 2)


@pytest.mark.parametrize("client", ["chat", "messages", "responses"])
@pytest.mark.parametrize("odd", [None, 1, "x", {}, [None, 1, "x", {"type": None}]])
def test_final_parts_of_another_shape_break_nothing(client: str, odd: Any) -> None:
    text = {"type": "output_text", "text": "Hi.", "annotations": odd}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    body = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": "Hi."},
        *({"type": "response.content_part.done", **place, "part": part} for part in (odd, text)),
        {"type": "response.content_part.done", "part": odd},
        {"type": "response.output_text.annotation.added", **place, "annotation": odd},
        {"type": "response.output_text.annotation.added", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
    ]
    played = play([frame(each) for each in body], client=client)
    assert played.failure is None
    if client != "responses":
        assert CLIENTS[client].whole(public().object("completed", [item]), {})


def test_annotations_without_a_text_are_nobodys() -> None:
    played = play([frame({"choices": [{"delta": {"annotations": [NESTED]}}]}) + chunk("stop") + DONE], upstream="chat")
    assert (played.failure, played.output) == (None, [])


def test_a_messages_client_reads_them_as_citations() -> None:
    body = chunk(content="Hi.") + chunk("stop", annotations=[NESTED]) + DONE
    played = play([body], upstream="chat", client="messages")
    assert b'"citations_delta"' in played.data and b'"url":"https://a.example/","title":"A"' in played.data
