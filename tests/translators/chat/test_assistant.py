"""One assistant message with its reasoning as a dialect wants it."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.assistant import Assistant, Thought, fitting_id, in_order
from translators.dialects.base import Dialect
from translators.events import Json

CALL: Json = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
DETAIL: Json = {"type": "reasoning.encrypted", "data": "blob"}


def made(dialect: Dialect, *thoughts: Thought, text: str = "hi", calls: bool = True) -> Json:
    draft = Assistant()
    draft.texts, draft.thoughts = [text] if text else [], list(thoughts)
    draft.calls = [(0, CALL)] if calls else []
    message = draft.message(dialect)
    assert message is not None
    assert message.pop("role") == "assistant"
    assert message.pop("tool_calls", None) == ([CALL] if calls else None)
    return message


THINK, MORE = Thought("think"), Thought("more", [DETAIL])
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "think\n\nmore"}]}, {"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("replay", "wanted"),
    [
        ("reasoning_content", {"content": "hi", "reasoning_content": "think\n\nmore"}),
        ("reasoning", {"content": "hi", "reasoning": "think\n\nmore"}),
        ("reasoning_details", {"content": "hi", "reasoning_details": [DETAIL]}),
        ("thinking_parts", {"content": PARTS}),
        ("none", {"content": "hi"}),
    ],
)
def test_each_host_gets_reasoning_in_its_own_field(replay: Any, wanted: Json) -> None:
    assert made(Dialect(replay=replay), THINK, MORE) == wanted


def test_a_host_of_details_gets_words_where_there_are_none() -> None:
    assert made(Dialect(replay="reasoning_details"), THINK) == {"content": "hi", "reasoning": "think"}
    assert made(Dialect(replay="thinking_parts"), THINK, text="") == {"content": PARTS[:1] and [
        {"type": "thinking", "thinking": [{"type": "text", "text": "think"}]},
    ]}  # fmt: skip


@pytest.mark.parametrize(
    ("required", "calls", "there"),
    [("no", True, False), ("calls", True, True), ("calls", False, False), ("all", False, True), ("all", True, True)],
)
def test_a_message_without_reasoning_gets_a_placeholder_where_one_is_required(
    required: Any, calls: bool, there: bool
) -> None:
    message = made(Dialect(replay_required=required, placeholder="."), calls=calls)
    assert message == {"content": "hi", **({"reasoning_content": "."} if there else {})}


SIGNED: Json = {"extra_content": {"google": {"thought_signature": "of-the-model"}}}


@pytest.mark.parametrize(
    ("calls", "signed"),
    [
        ([{}, {}], ["skip_thought_signature_validator", None]),
        ([SIGNED, {}], ["of-the-model", None]),
        ([{}, SIGNED], [None, "of-the-model"]),
    ],
)
def test_the_first_call_has_a_signature_where_none_of_them_has_one(calls: list[Json], signed: list[Any]) -> None:
    assistant = Assistant()
    assistant.calls = list(enumerate(calls))
    message = assistant.message(Dialect(sign_calls=True))
    assert message is not None
    found = [call.get("extra_content", {}).get("google", {}).get("thought_signature") for call in message["tool_calls"]]
    assert found == signed
    plain = assistant.message(Dialect())
    assert plain is not None
    assert plain["tool_calls"] == calls


def test_a_message_that_says_nothing_is_none() -> None:
    assert Assistant().message(Dialect(replay_required="all")) is None


@pytest.mark.parametrize(
    ("given", "length", "wanted"),
    [("call_1", None, "call_1"), ("abcDEF123", 9, "abcDEF123"), ("functions.f:0", None, "functions.f:0")],
)
def test_ids_that_fit_stay(given: str, length: int | None, wanted: str) -> None:
    assert fitting_id(given, length) == wanted


@pytest.mark.parametrize("given", ["", "call_abcdefghijkl", "functions.f:0", "éééééééé1", "short"])
def test_other_ids_become_letters_and_digits_always_the_same(given: str) -> None:
    made_ = fitting_id(given, 9)
    assert (len(made_), made_.isascii(), made_.isalnum(), fitting_id(given, 9)) == (9, True, True, made_)
    assert fitting_id(given + "x", 9) != made_


def test_roles_follow_each_other_as_the_host_wants() -> None:
    def user(content: Any) -> Json:
        return {"role": "user", "content": content}

    tool: Json = {"role": "tool", "tool_call_id": "a", "content": "ok"}
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    messages = [user("a"), user("b"), tool, user([picture]), user("c")]
    assert in_order(messages, Dialect()) is messages
    assert in_order(messages, Dialect(assistant_after_tool=True)) == [
        *(user("a"), user("b"), tool, {"role": "assistant", "content": "OK."}, user([picture]), user("c")),
    ]
    assert in_order(messages, Dialect(merge_same_role=True)) == [
        *(user("a\n\nb"), tool, user([picture, {"type": "text", "text": "c"}])),
    ]


def test_what_the_assistant_says_in_two_messages_is_one_where_roles_alternate() -> None:
    """vllm-project/vllm#6862: the template of the model refuses every request with two of one role in a row."""
    said: Json = {"role": "assistant", "content": "a"}
    called: Json = {"role": "assistant", "content": "b", "tool_calls": [{}]}
    messages: list[Json] = [said, said, called, {"role": "tool", "content": "x"}, said]
    assert in_order(messages, Dialect(merge_same_role=True)) == [
        {**called, "content": "a\n\na\n\nb"},
        *messages[3:],
    ]
    assert in_order([called, called], Dialect(merge_same_role=True)) == [called, called]


@pytest.mark.parametrize(("role", "count"), [("assistant", 2), ("user", 1), ("tool", 1)])
def test_the_user_has_the_last_word_where_the_assistant_may_not(role: str, count: int) -> None:
    """ "This model does not support assistant message prefill" (anomalyco/opencode#13768), "Expected last role User or
    Tool" (huggingface/smolagents#757)."""
    messages: list[Json] = [{"role": role, "content": "{"}]
    assert in_order(messages, Dialect()) is messages
    made_ = in_order(messages, Dialect(user_last=True))
    assert made_ == [*messages, {"role": "user", "content": "Continue."}][:count]


def test_a_user_speaks_at_the_beginning_where_a_history_without_one_is_refused() -> None:
    """ "No user query found in messages." (open-webui/computer#162): what is left of a compacted history, mostly."""
    told, said = {"role": "system", "content": "s"}, {"role": "assistant", "content": "a"}
    go_on = {"role": "user", "content": "Continue."}
    needed = Dialect(user_needed=True)
    assert in_order([told, said], Dialect()) == [told, said]
    assert in_order([told, said], needed) == [told, go_on, said]
    assert in_order([said], needed) == [go_on, said]
    assert in_order([told], needed) == [told, go_on]
    assert in_order([], needed) == [go_on]
    assert in_order([said, go_on], needed) == [said, go_on]
    assert in_order([said], Dialect(user_needed=True, user_last=True)) == [said, go_on]
