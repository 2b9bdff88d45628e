"""OpenRouter, as its documentation and its refusals say."""

from __future__ import annotations

from support.dialects import CALL, OUTPUT, SUMMARY, TOOL, upstream_body, user, without
from translators.reasoning import NATIVE


def test_effort_goes_into_an_object() -> None:
    assert without(upstream_body("openrouter", "a/b", reasoning={"effort": "max"}), "messages") == {
        "reasoning": {"effort": "xhigh"}
    }


def test_only_anthropics_models_are_asked_to_cache() -> None:
    asked = [upstream_body("openrouter", f"{owner}/m").get("cache_control") for owner in ("anthropic", "openai")]
    assert asked == [{"type": "ephemeral"}, None]


def test_details_go_back_as_they_came_and_words_where_there_are_none() -> None:
    details = [{"type": "reasoning.encrypted", "data": "blob", "index": 0}]
    native = {"type": "reasoning", "summary": [], NATIVE: {"text": "think", "details": details}}
    late = {"type": "reasoning", "summary": [], NATIVE: {"details": details}}
    said = {"role": "assistant", "content": "hi"}
    for items, wanted in (
        ([native, CALL, OUTPUT], {"reasoning_details": details}),
        ([SUMMARY, CALL, OUTPUT], {"reasoning": "think"}),
        ([said, CALL, late, OUTPUT], {"reasoning_details": details}),
    ):
        body = upstream_body("openrouter", "a/b", input=[user(), *items], tools=[TOOL])
        message = body["messages"][1]
        assert {key: message[key] for key in message.keys() & {"reasoning", "reasoning_details"}} == wanted
