"""A sealed summary: made from a history, opened again on the way up, and never taken for what it is not."""

from __future__ import annotations

from typing import Any

import pytest

from translators import envelope
from translators.events import Note
from translators.failure import Failure
from translators.responses.compaction import (
    CONTINUE,
    HEADING,
    PROMPT,
    compaction_item,
    continued,
    expand,
    is_triggered,
    newest,
    retained,
    summary_of,
    summary_request,
    threshold,
    user_message,
)

KEY = b"k" * 32
TRIGGER = {"type": "compaction_trigger"}
ASKED = user_message("do it")
TOLD = {"type": "message", "role": "developer", "content": "be careful"}
CALL = {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "done"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I did"}]}
THOUGHT = {"type": "reasoning", "summary": []}
NEXT = user_message("go on")
SET = {"type": "configuration_update", "reasoning": {"effort": "low"}}
TASK = {"type": "agent_message", "id": "amsg_1", "author": "/root", "content": [{"type": "input_text", "text": "add"}]}
ITEM = compaction_item(KEY, "cmp_1", "SUMMARY")
OPENED = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": HEADING + "SUMMARY", "annotations": []}],
}


@pytest.mark.parametrize(
    ("items", "yes"), [([ASKED, TRIGGER], True), ([TRIGGER, ASKED], False), ([], False), ("hi", False), (None, False)]
)
def test_only_the_last_item_is_a_trigger(items: Any, yes: bool) -> None:
    assert is_triggered(items) is yes


@pytest.mark.parametrize(
    ("management", "limit"),
    [
        (None, None),
        ([], None),
        ([{"type": "compaction"}], None),
        ([{"type": "compaction", "compact_threshold": None}], None),
        ([{"type": "compaction", "compact_threshold": 1000}], 1000),
    ],
)
def test_a_threshold_is_what_the_client_set(management: Any, limit: int | None) -> None:
    assert threshold({"context_management": management}) == limit


@pytest.mark.requirement("U10")
def test_a_summary_is_asked_for_without_tools_triggers_or_anything_that_declares_tools() -> None:
    body = {
        "model": "m", "instructions": "be brief", "tools": [{"type": "custom", "name": "apply_patch"}],
        "tool_choice": "required", "reasoning": {"effort": "low"}, "text": {"format": {"type": "json_object"}},
        "max_output_tokens": 5, "stream": True, "metadata": {"a": "b"}, "store": True,
        "context_management": [{"type": "compaction", "compact_threshold": 1}], "previous_response_id": "resp_1",
    }  # fmt: skip
    found = {"type": "tool_search_output", "call_id": "s", "tools": [{"type": "function", "name": "f"}]}
    declared = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "g"}]}
    assert summary_request(body, [declared, ASKED, found, CALL, OUTPUT, TRIGGER]) == {
        "model": "m",
        "instructions": "be brief",
        "reasoning": {"effort": "low"},
        "store": False,
        "input": [ASKED, {**found, "tools": []}, CALL, OUTPUT, user_message(PROMPT)],
    }


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ([], ""),
        ([THOUGHT, SAID], "I did"),
        ([SAID, CALL, SAID], "I did\n\nI did"),
        ([{"type": "message", "content": [{"type": "output_text", "text": "  \n"}]}], ""),
        ([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}], ""),
        ([{"type": "message"}], ""),
    ],
)
def test_the_summary_is_the_text_of_the_answer(output: list[Any], text: str) -> None:
    assert summary_of({"output": output}) == text


def test_the_item_is_sealed_and_the_same_each_time() -> None:
    assert compaction_item(KEY, "cmp_1", "SUMMARY") == ITEM
    assert ITEM.keys() == {"id", "type", "encrypted_content"}
    assert (ITEM["id"], ITEM["type"]) == ("cmp_1", "compaction")
    assert envelope.unseal(KEY, envelope.COMPACTION, ITEM["encrypted_content"]) == b'{"summary":"SUMMARY"}'
    half = compaction_item(KEY, "cmp_1", "x\ud83d")
    assert expand([half], KEY, foreign=False)[0][0]["content"][0]["text"] == HEADING + "x\ufffd"


@pytest.mark.parametrize(
    ("items", "seen"),
    [
        ([ITEM, NEXT], [OPENED, NEXT]),
        ([ITEM], [OPENED, user_message(CONTINUE)]),
        ([ITEM, CALL, OUTPUT], [OPENED, user_message(CONTINUE), CALL, OUTPUT]),
        ([TOLD, ASKED, THOUGHT, CALL, OUTPUT, SAID, ITEM, NEXT], [TOLD, ASKED, OPENED, NEXT]),
        ([ASKED, compaction_item(KEY, "cmp_0", "OLD"), SAID, NEXT, ITEM, NEXT], [ASKED, NEXT, OPENED, NEXT]),
        ([{**ITEM, "type": "compaction_summary"}, NEXT], [OPENED, NEXT]),
        ([TOLD, TASK, CALL, OUTPUT, ITEM, TASK], [TOLD, TASK, OPENED, TASK]),
        ([ASKED, SET, SAID, ITEM, NEXT], [ASKED, SET, OPENED, NEXT]),
    ],
    ids=["alone", "last", "before_a_call", "after_a_history", "twice", "older_name", "of_an_agent", "a_setting"],
)
@pytest.mark.requirement("U12")
def test_an_upstream_sees_the_users_words_and_the_summary(items: list[Any], seen: list[Any]) -> None:
    for foreign in (True, False):
        assert expand(items, KEY, foreign=foreign)[0] == seen


def test_what_is_left_out_is_noted_and_the_rest_is_left_alone() -> None:
    assert expand([CALL, ASKED, SAID, ITEM, NEXT], KEY, foreign=False)[1] == [
        Note("summarised_item_left_out", "input[2]"),
        Note("summarised_item_left_out", "input[0]"),
    ]
    plain = [ASKED, CALL, OUTPUT]
    assert expand(plain, KEY, foreign=False) == (plain, [])
    assert expand(plain, KEY, foreign=False)[0] is plain


def test_a_summary_may_limit_how_many_of_the_users_words_before_it_go_up() -> None:
    long, short = user_message("x" * 400), user_message("y" * 40)
    limited = compaction_item(KEY, "cmp_1", "SUMMARY", 30)
    seen, notes = expand([short, long, TOLD, short, limited, NEXT], KEY, foreign=False)
    assert seen == [TOLD, short, OPENED, NEXT]
    assert notes == [Note("old_user_message_left_out", "input[1]"), Note("old_user_message_left_out", "input[0]")]


@pytest.mark.requirement("R13")
@pytest.mark.parametrize(
    "sealed",
    [
        ITEM["encrypted_content"][:-4] + "AAA=",
        compaction_item(b"o" * 32, "cmp_1", "SUMMARY")["encrypted_content"],
        envelope.seal(KEY, envelope.REASONING, b'{"summary":"SUMMARY"}'),
    ],
    ids=["changed", "other_key", "other_kind"],
)  # fmt: skip
def test_a_summary_that_cannot_be_opened_is_refused_by_its_place(sealed: Any) -> None:
    with pytest.raises(Failure) as caught:
        expand([ASKED, {"type": "compaction", "encrypted_content": sealed}, NEXT], KEY, foreign=False)
    assert (caught.value.code, caught.value.status, caught.value.param) == ("invalid_request_error", 400, "input[1]")


@pytest.mark.parametrize("sealed", ["x" + ITEM["encrypted_content"], "gAAAA-of-another-provider", "", None, 5])
def test_a_summary_of_another_provider_is_left_out_where_nobody_can_read_it(sealed: Any) -> None:
    theirs = {"type": "compaction", "encrypted_content": sealed}
    assert expand([ASKED, theirs, NEXT], KEY, foreign=False) == (
        [ASKED, NEXT],
        [Note("foreign_compaction_left_out", "input[1]")],
    )
    assert expand([ASKED, ITEM, theirs, NEXT], KEY, foreign=False)[0] == [ASKED, OPENED, NEXT]


def test_what_another_provider_sealed_passes_where_it_may_be_understood() -> None:
    theirs = [ASKED, SAID, {"type": "compaction", "encrypted_content": "gAAAA"}, NEXT]
    assert expand(theirs, KEY, foreign=True) == (theirs, [])
    mine = [*theirs, ITEM, NEXT]
    assert expand(mine, KEY, foreign=True)[0] == [ASKED, NEXT, OPENED, NEXT]


def test_the_question_at_the_end_stays_behind_the_summary() -> None:
    assert continued([ASKED, CALL, OUTPUT, SAID, NEXT], ITEM) == [ASKED, CALL, OUTPUT, SAID, ITEM, NEXT]
    assert continued([ASKED, CALL, OUTPUT], ITEM) == [ASKED, CALL, OUTPUT, ITEM]
    assert continued([NEXT], ITEM) == [ITEM, NEXT]
    assert continued([SAID, TASK], ITEM) == [SAID, ITEM, TASK]


def test_a_window_begins_with_the_newest_user_messages_in_whole_form() -> None:
    short = {"role": "user", "content": "hi"}
    items = [user_message("x" * 4000), {**ASKED, "id": "msg_own"}, TOLD, CALL, OUTPUT, SAID, short]
    first, second = retained(items, "s", keep=100)
    assert first == {**ASKED, "id": "msg_own", "status": "completed"}
    assert second == {
        "type": "message", "role": "user", "status": "completed", "id": "msg_s_1",
        "content": [{"type": "input_text", "text": "hi"}],
    }  # fmt: skip
    assert [item["id"] for item in retained(items, "s")] == ["msg_s_0", "msg_own", "msg_s_2"]


def test_a_window_of_an_agent_keeps_its_task_as_it_is() -> None:
    assert retained([TASK, CALL, OUTPUT, SAID], "s") == [TASK]


def test_the_newest_compaction_item_is_found() -> None:
    assert (newest([ITEM, ASKED, ITEM, NEXT]), newest([ASKED]), newest([])) == (2, None, None)


def test_an_older_name_of_compaction_never_goes_up() -> None:
    """ "Invalid value: 'context_compaction'" in every later turn (openai/codex#27005, #27423)."""
    trigger = {"type": "context_compaction"}
    theirs = {"type": "context_compaction", "encrypted_content": "gAAAA"}
    mine = {**ITEM, "type": "context_compaction"}
    now = {"type": "compaction", "encrypted_content": "gAAAA"}
    assert expand([ASKED, trigger, theirs, NEXT], KEY, foreign=True) == ([ASKED, now, NEXT], [])
    assert expand([ASKED, trigger, theirs, NEXT], KEY, foreign=False) == (
        [ASKED, NEXT],
        [Note("foreign_compaction_left_out", "input[1]")],
    )
    assert expand([ASKED, trigger, NEXT], KEY, foreign=True) == ([ASKED, NEXT], [])
    assert expand([ASKED, SAID, mine, NEXT], KEY, foreign=False)[0] == [ASKED, OPENED, NEXT]
    assert newest([ASKED, theirs, trigger, NEXT]) == 1
