"""Earlier reasoning on its way up: each item by one rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translators.dialects.base import Dialect
from translators.envelope import COMPACTION
from translators.envelope import seal as envelope
from translators.events import Json
from translators.reasoning import NATIVE, Origin, Scope, adopt, prepare, seal

KEY, OTHER = b"k" * 32, b"o" * 32
HERE, MODEL, ELSEWHERE = Origin("kimi", "k3"), Origin("kimi", "k2"), Origin("xai", "grok")
PLAIN = Dialect()
OPEN = Dialect(encrypted_reasoning="open")
SUMMARY = [{"type": "summary_text", "text": "short"}]


def thought(encrypted: str | None, **more: Any) -> Json:
    return {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": encrypted, **more}


def treated(item: Json, dialect: Dialect = PLAIN, *, chat: bool = True) -> tuple[list[Any], list[str]]:
    items, notes = prepare([item], HERE, KEY, dialect, chat=chat, recall=None)
    assert all(note.path == "input[0].encrypted_content" for note in notes)
    return items, [note.rule for note in notes]


OWN: Json = {"text": "think", "details": [{"type": "reasoning.text"}], "calls": {"a": {"extra_content": 1}}}
BARE: Json = {"type": "reasoning", "id": "rs", "summary": []}


def test_our_own_envelope_of_the_same_provider_and_model_is_opened() -> None:
    assert treated(thought(seal(KEY, HERE, OWN))) == ([{**BARE, NATIVE: OWN}], [])
    sealed = thought(seal(KEY, HERE, {"raw": "blob"}))
    assert treated(sealed, chat=False) == ([{**BARE, "encrypted_content": "blob"}], [])


def test_words_of_a_responses_upstream_go_back_to_it_as_they_were_and_elsewhere_as_text() -> None:
    form = {"text": "think", "form": "reasoning_text"}
    own, foreign = (thought(seal(KEY, origin, form), content=None) for origin in (HERE, ELSEWHERE))
    said = {**BARE, "content": [{"type": "reasoning_text", "text": "think"}]}
    assert treated(own, chat=False) == ([said], [])
    assert treated(own, OPEN, chat=False) == ([], ["foreign_reasoning_left_out"])
    assert treated(foreign, chat=False) == ([], ["foreign_reasoning_left_out"])
    assert treated(foreign)[0][0][NATIVE] == treated(own)[0][0][NATIVE] == {"text": "think"}


def test_another_model_of_the_provider_gets_the_words_and_no_signature() -> None:
    assert treated(thought(seal(KEY, MODEL, OWN))) == ([{**BARE, NATIVE: {"text": "think"}}], [])


@pytest.mark.parametrize("dialect", [PLAIN, Dialect(encrypted_reasoning="none")])
def test_another_providers_reasoning_is_words_in_chat_and_nothing_on_responses(dialect: Dialect) -> None:
    foreign = thought(seal(KEY, ELSEWHERE, {"text": "think", "raw": "blob"}), summary=SUMMARY)
    said = {**BARE, "summary": SUMMARY, NATIVE: {"text": "think"}}
    assert treated(foreign, dialect) == ([said], ["foreign_reasoning_left_out"])
    assert treated(foreign, dialect, chat=False) == ([], ["foreign_reasoning_left_out"])


def test_thoughts_that_a_messages_client_brings_as_they_were_signed_are_adopted_and_ours_stay() -> None:
    own, read = thought(seal(KEY, ELSEWHERE, OWN)), {"type": "message", "role": "user", "content": "hi"}
    assert adopt(untouched := [own, read], HERE, KEY) is untouched
    items = adopt([thought("signed", summary=SUMMARY), thought("locked"), own, read], HERE, KEY)
    assert items[2:] == [own, read]
    opened = [json.loads(treated(item, chat=False)[0][0]["encrypted_content"]) for item in items[:2]]
    assert opened == [
        {"type": "thinking", "thinking": "short", "signature": "signed"},
        {"type": "redacted_thinking", "data": "locked"},
    ]


def test_a_blob_that_is_no_envelope_goes_up_on_its_own_providers_route_only() -> None:
    raw = thought("gAAAA", summary=SUMMARY)
    assert treated(raw, OPEN, chat=False) == ([raw], [])
    assert treated(raw, PLAIN, chat=False) == ([], ["foreign_reasoning_left_out"])
    assert treated(raw, OPEN) == ([{**BARE, "summary": SUMMARY}], ["foreign_reasoning_left_out"])


@pytest.mark.parametrize(
    "text",
    [
        seal(OTHER, HERE, OWN),
        seal(KEY, HERE, OWN)[:-8] + "AAAAAAAA",
        "apx1.",
        envelope(KEY, COMPACTION, b"{}"),
        envelope(KEY, b"r", b"no json"),
    ],
)
@pytest.mark.parametrize("chat", [True, False])
def test_a_changed_envelope_is_never_sent(text: str, chat: bool) -> None:
    wanted = [{**BARE, "summary": SUMMARY}] if chat else []
    assert treated(thought(text, summary=SUMMARY), chat=chat) == (wanted, ["tampered_reasoning_left_out"])


def test_a_model_that_takes_no_foreign_thoughts_gets_none() -> None:
    dialect = Dialect(foreign_reasoning=False)
    assert treated(thought(seal(KEY, ELSEWHERE, OWN)), dialect) == ([], ["foreign_reasoning_left_out"])


@pytest.mark.parametrize(("chat", "count"), [(True, 3), (False, 1)])
def test_items_that_need_nothing_are_the_same_objects(chat: bool, count: int) -> None:
    items = [{"role": "user", "content": "hi"}, thought(None, summary=SUMMARY), thought("")][:count]
    prepared, notes = prepare(items, HERE, KEY, PLAIN, chat=chat, recall=None)
    assert prepared is items
    assert notes == []


def test_reasoning_that_only_has_a_name_goes_to_no_responses_upstream_and_openai_reads_no_words() -> None:
    left: tuple[list[Any], list[str]] = ([], ["reasoning_left_out"])
    words = thought(None, content=[{"type": "reasoning_text", "text": "think"}])
    for dialect in (PLAIN, OPEN):
        for item in (thought(None, summary=SUMMARY), thought(""), {**BARE}, thought(None, content=[])):
            assert treated(item, dialect, chat=False) == left
    assert treated(words, chat=False) == ([words], [])
    assert treated(words, OPEN, chat=False) == left


def test_what_openai_would_look_up_without_its_reasoning_goes_up_without_its_id() -> None:
    named = [
        {**USER, "id": "msg_1"},
        thought(None),
        {**CALL, "id": "fc_1"},
        {**OUTPUT, "id": "fco_1"},
        {**CALL, "id": "fc_2"},
    ]
    for dialect, taken in ((OPEN, {"id"}), (PLAIN, set())):
        items, _ = prepare(named, HERE, KEY, dialect, chat=False, recall=None)
        assert [named[place].keys() - item.keys() for place, item in zip((0, 2, 3, 4), items, strict=True)] == [
            *(set(), taken, set(), set()),
        ]


def test_content_that_is_null_is_left_out() -> None:
    assert treated(thought("gAAAA", content=None), OPEN, chat=False) == ([thought("gAAAA")], [])


USER: Json = {"type": "message", "role": "user", "content": "go"}
CALL: Json = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "a", "output": "ok"}


def recalled(*items: Json, remembered: dict[str, Json] | None = None) -> list[Any]:
    known = {"a": OWN} if remembered is None else remembered
    prepared, _ = prepare(list(items), HERE, KEY, PLAIN, chat=True, recall=lambda scope, call_id: known.get(call_id))
    return prepared


def test_what_the_client_dropped_comes_from_memory() -> None:
    made = {
        "type": "reasoning",
        "summary": [],
        NATIVE: {"calls": OWN["calls"], "text": "think", "details": OWN["details"]},
    }
    assert recalled(USER, CALL, OUTPUT) == [USER, made, CALL, OUTPUT]
    assert recalled(USER, {**CALL, "type": "custom_tool_call"}, OUTPUT)[1] == made
    assert recalled(USER, CALL, OUTPUT, remembered={}) == [USER, CALL, OUTPUT]


def test_what_the_client_kept_is_not_said_twice_but_signatures_are_added() -> None:
    kept = thought(None, summary=SUMMARY)
    assert recalled(USER, kept, CALL, OUTPUT) == [
        *(USER, kept, {"type": "reasoning", "summary": [], NATIVE: {"calls": OWN["calls"]}}, CALL, OUTPUT),
    ]
    assert recalled(USER, kept, CALL, OUTPUT, remembered={"a": {"text": "think"}}) == [USER, kept, CALL, OUTPUT]


def test_two_calls_of_one_turn_share_their_reasoning() -> None:
    both = {"a": {"text": "think"}, "b": {"text": "think"}}
    prepared = recalled(USER, CALL, {**CALL, "call_id": "b"}, OUTPUT, {**CALL, "call_id": "b"}, remembered=both)
    assert [item.get("call_id", "*") for item in prepared if item is not USER] == ["*", "a", "b", "a", "*", "b"]


def test_a_responses_upstream_gets_nothing_from_memory() -> None:
    items = [USER, CALL, OUTPUT]
    assert prepare(items, HERE, KEY, PLAIN, chat=False, recall=lambda scope, call_id: OWN)[0] is items


def test_the_scope_is_what_the_user_said_before() -> None:
    parts: Json = {**USER, "content": [{"type": "input_text", "text": "go"}]}
    same = [
        Scope([USER, CALL]).at(1),
        Scope([parts, OUTPUT, CALL]).at(2),
        Scope([parts]).end(),
        Scope([USER, CALL]).end(),
    ]
    assert len(set(same)) == 1
    more = [Scope([USER, USER]).end(), Scope([]).end(), Scope([{**USER, "content": "stop"}]).end()]
    picture: Json = {**USER, "content": [{"type": "input_image", "image_url": "data:,"}]}
    assert len({*same, *more, Scope([picture]).end()}) == 5
    growing = Scope([USER, CALL, USER, CALL])
    assert growing.at(1) == same[0]
    assert growing.at(3) != same[0]


def test_halves_of_characters_do_not_break_it() -> None:
    assert Scope([{**USER, "content": "\ud83d"}]).end() != Scope([]).end()
    (item,), _ = treated(thought(seal(KEY, HERE, {"text": "\ud83d"})))
    assert item[NATIVE] == {"text": "�"}
