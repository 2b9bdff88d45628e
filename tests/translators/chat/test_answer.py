"""A finished hub response as a completion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.streams import public
from translators.chat.answer import chat_usage, finish_reason, whole
from translators.relay import WHOLE
from translators.usage import usage_of

CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}


def response(*output: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**public().object("completed", [*output], usage=usage_of(3, 2, cached=1)), **changes}


def test_everything_in_one_object() -> None:
    cited = {"type": "url_citation", "url": "u"}
    made = json.loads(
        whole(
            response(
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thought"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "hi", "annotations": [cited]}]},
                CALL,
                {"type": "custom_tool_call", "call_id": "b", "name": "c", "input": "x"},
                {"type": "web_search_call"},
            ),
            {},
        )
    )
    assert made == {
        "id": "chatcmpl-0a1b",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "house/model",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "hi",
                    "refusal": None,
                    "reasoning_content": "thought",
                    "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}],
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                        {"id": "b", "type": "custom", "custom": {"name": "c", "input": "x"}},
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "total_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def test_a_refusal_and_the_deprecated_call() -> None:
    refused = json.loads(whole(response({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}), {}))
    assert refused["choices"][0]["message"] == {"role": "assistant", "content": "", "refusal": "no"}
    legacy = json.loads(whole(response(CALL), {"functions": [{}]}))["choices"][0]
    assert legacy["message"]["function_call"] == {"name": "f", "arguments": "{}"}
    assert legacy["finish_reason"] == "function_call"


def test_an_answer_that_came_in_this_format_leaves_as_it_came() -> None:
    assert whole(response(**{WHOLE: b'{"id": 1}'}), {}) == b'{"id": 1}'


def test_half_a_character_does_not_break_the_answer() -> None:
    made = json.loads(whole(response({"type": "message", "content": [{"type": "output_text", "text": "a\ud83d"}]}), {}))
    assert made["choices"][0]["message"]["content"].startswith("a")


def test_nothing_known_of_usage_is_zero_and_reasons_have_their_own_words() -> None:
    assert chat_usage(None)["total_tokens"] == 0
    assert finish_reason({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}) == "length"


@pytest.mark.parametrize("form", [None, "text", "json_object", "json_schema"])
def test_what_a_model_says_beside_an_answer_in_json_is_a_thought(form: str | None) -> None:
    said = [("commentary", "Let me look."), ("final_answer", "{}")]
    output = [
        {"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]} for phase, text in said
    ]
    request = {"response_format": form and {"type": form}}
    made = json.loads(whole(response(*output), request))["choices"][0]["message"]
    if form in (None, "text"):
        assert (made["content"], "reasoning_content" in made) == ("Let me look.{}", False)
    else:
        assert (made["content"], made["reasoning_content"]) == ("{}", "Let me look.")
