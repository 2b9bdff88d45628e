"""A hub request for a Responses upstream: nearly itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from translators.dialects.base import Dialect
from translators.dialects.openai import OPENAI
from translators.events import Note
from translators.responses.from_hub import LEFT_OUT, NO_INSTRUCTIONS, build

Json = dict[str, Any]


def test_everything_passes_untouched_but_model_stream_store_and_the_place_of_input() -> None:
    body: Json = {
        "input": [{"type": "message", "role": "user", "content": "hi", "vendor": {"x": 1}}],
        "model": "alias",
        "stream": False,
        "store": True,
        "tools": [{"type": "custom", "name": "exec"}],
        "unknown_field": [1, None],
        "text": None,
    }
    before = copy.deepcopy(body)
    out, notes = build(body, "real", Dialect())
    assert list(out.items()) == [
        ("model", "real"),
        ("stream", True),
        ("store", False),
        ("tools", [{"type": "custom", "name": "exec"}]),
        ("unknown_field", [1, None]),
        ("text", None),
        ("input", before["input"]),
    ]
    assert (notes, body) == ([], before)


@pytest.mark.parametrize(("key", "rule"), LEFT_OUT.items())
def test_what_stays_here_is_left_out_by_a_named_rule(key: str, rule: str) -> None:
    assert build({key: "x", "input": "hi"}, "m", Dialect()) == (
        {"model": "m", "stream": True, "store": False, "input": "hi"},
        [Note(rule, key)],
    )
    assert build({key: None, "input": "hi"}, "m", Dialect())[1] == []


def test_private_fields_of_items_are_left_out_and_noted() -> None:
    plain = {"type": "message", "role": "user", "content": "hi"}
    items = [plain, {**plain, "internal_chat_message_metadata_passthrough": {"a": 1}}]
    out, notes = build({"input": items}, "m", Dialect())
    assert out["input"] == [plain, plain]
    assert notes == [Note("private_field_left_out", "input[1].internal_chat_message_metadata_passthrough")]
    assert "internal_chat_message_metadata_passthrough" in items[1]


def test_a_longer_history_only_appends() -> None:
    item = {"type": "message", "role": "user", "content": "hi"}
    short, _ = build({"input": [item], "instructions": "x"}, "m", Dialect())
    long, _ = build({"input": [item, item], "instructions": "x"}, "m", Dialect())
    assert list(short)[-1] == list(long)[-1] == "input"
    assert {**long, "input": long["input"][:1]} == short


def test_no_input_at_all_is_an_empty_list() -> None:
    assert build({}, "m", Dialect())[0]["input"] == []


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({"include": ["reasoning.encrypted_content"]}, {}),
        ({"include": ["web_search_call.action.sources", "reasoning.encrypted_content"]},
         {"include": ["web_search_call.action.sources"]}),
        ({"include": ["web_search_call.action.sources"]}, {"include": ["web_search_call.action.sources"]}),
        ({"include": None}, {"include": None}),
    ],
)  # fmt: skip
def test_of_a_model_that_does_not_reason_only_its_reasoning_is_not_asked_for(
    asked: dict[str, Any], sent: dict[str, Any]
) -> None:
    given = {**asked, "input": []}
    made, notes = build(given, "m", Dialect(encrypted_include=False))
    assert made == {"model": "m", "stream": True, "store": False, **sent, "input": []}
    assert [note.path for note in notes] == ([] if asked == sent else ["include"])
    assert build(given, "m", Dialect())[0] == {**made, **asked}


USER, OTHER = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok"}


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([USER, call("a"), output("a")], [USER, call("a"), output("a")]),
        ([call("a"), USER, output("a")], [call("a"), output("a"), USER]),
        ([call("a"), call("b"), output("b"), output("a")], [call("a"), call("b"), output("a"), output("b")]),
        ([call("a"), output("a"), call("b"), output("b")], [call("a"), output("a"), call("b"), output("b")]),
        ([call("a"), USER, call("b"), output("a"), output("b")],
         [call("a"), output("a"), USER, call("b"), output("b")]),
        ([call("a"), output("a"), USER, call("a"), OTHER, output("a")],
         [call("a"), output("a"), USER, call("a"), output("a"), OTHER]),
        ([call("a"), USER], [call("a"), USER]),
        ([output("x"), call("a"), output("a")], [output("x"), call("a"), output("a")]),
        ([USER, {"type": "odd"}, call("a")], [USER, {"type": "odd"}, call("a")]),
    ],
)  # fmt: skip
def test_outputs_follow_their_calls_where_the_host_insists(items: list[Any], wanted: list[Any]) -> None:
    assert build({"input": items}, "m", Dialect(adjacent_outputs=True))[0]["input"] == wanted
    assert build({"input": items}, "m", Dialect())[0]["input"] == items


def test_ids_that_the_host_refuses_are_cut_or_left_out() -> None:
    items = [
        {**USER, "id": "m"},
        {**call("a" * 90), "id": "f"},
        output("a" * 90),
        call("b"),
        {"type": "item_reference", "id": "x"},
    ]
    out, _ = build({"input": items}, "m", Dialect(call_id_limit=64, item_ids=False))
    cut = out["input"][1]["call_id"]
    assert len(cut) <= 64 and cut.startswith("call_")
    assert out["input"] == [USER, call(cut), output(cut), call("b"), {"type": "item_reference", "id": "x"}]
    assert build({"input": items}, "m", Dialect())[0]["input"] == items


def test_items_that_the_host_does_not_know_stay_here() -> None:
    items = [USER, {"type": "web_search_call", "id": "ws"}, call("a")]
    out, notes = build({"input": items}, "m", Dialect(items=frozenset({"message", "function_call"})))
    assert (out["input"], notes) == ([USER, call("a")], [Note("item_left_out", "input[1]")])


@pytest.mark.requirement("NW10")
def test_only_openai_is_asked_to_look_at_an_image_in_its_original_size() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "original"}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, image]},
        {"type": "function_call_output", "call_id": "c", "output": [image]},
        {"type": "function_call_output", "call_id": "d", "output": "text"},
    ]
    assert build({"input": items}, "m", OPENAI)[0]["input"] == items
    before = copy.deepcopy(items)
    out, notes = build({"input": items}, "m", Dialect())
    assert [part["detail"] for part in (out["input"][0]["content"][1], out["input"][1]["output"][0])] == ["high"] * 2
    assert [note.path for note in notes] == ["input[0].content", "input[1].output"]
    assert (items, out["input"][2]) == (before, items[2])


def test_a_host_without_developers_gets_system_messages() -> None:
    out, _ = build({"input": [{"role": "developer", "content": "x"}, USER]}, "m", Dialect(developer_role=False))
    assert out["input"] == [{"role": "system", "content": "x"}, USER]


SYSTEM = {"role": "system", "content": "Be brief."}
DEVELOPER = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]}


def test_a_host_without_system_messages_gets_developers() -> None:
    out, _ = build({"input": [SYSTEM, USER]}, "m", Dialect(system_role=False))
    assert out["input"] == [{**SYSTEM, "role": "developer"}, USER]


@pytest.mark.parametrize(
    ("given", "instructions", "sent"),
    [
        ([SYSTEM, DEVELOPER, USER, SYSTEM], "Be brief.\n\nBe kind.", [USER, SYSTEM]),
        ([USER, SYSTEM], NO_INSTRUCTIONS, [USER, SYSTEM]),
        ("hi", NO_INSTRUCTIONS, "hi"),
    ],
)
def test_a_host_that_must_have_instructions_gets_the_first_system_texts(
    given: Any, instructions: str, sent: Any
) -> None:
    before = copy.deepcopy(given)
    out, _ = build({"input": given}, "m", Dialect(instructions_required=True))
    assert (out["instructions"], out["input"], given) == (instructions, sent, before)
    assert list(out)[-1] == "input"
    kept, _ = build({"input": given, "instructions": "mine"}, "m", Dialect(instructions_required=True))
    assert (kept["instructions"], kept["input"]) == ("mine", given)


def test_store_is_not_sent_where_it_is_refused() -> None:
    assert build({"input": "x", "store": True}, "m", Dialect(refused=frozenset({"store"})))[0].keys() == {
        *("model", "stream", "input"),
    }
    assert build({"input": "x", "store": True}, "m", Dialect())[0]["store"] is False
