"""xAI, as its documentation and its refusals say."""

from __future__ import annotations

import pytest

from support.dialects import CALL, OUTPUT, TOOL, upstream_body, user, without


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("grok-4", "high", None),
        ("grok-4-fast-reasoning", "low", None),
        ("grok-code-fast-1", "low", None),
        ("grok-4.20-0309-reasoning", "low", None),
        ("grok-4.20-multi-agent-0309", "xhigh", "xhigh"),
        ("grok-4.3", "none", "none"),
        ("grok-4.3", "xhigh", "high"),
        ("grok-4.5", "none", "low"),
        ("grok-4.5", "max", "high"),
        ("grok-4.7", "max", "xhigh"),
        ("grok-4.7", "minimal", "low"),
        ("grok-3-mini", "medium", "low"),
        ("grok-9", "medium", "medium"),
    ],
)
def test_each_model_gets_a_level_that_it_takes(model: str, asked: str, sent: str | None) -> None:
    body = upstream_body("xai", model, "responses", reasoning={"effort": asked, "summary": "auto"})
    assert body.get("reasoning") == (None if sent is None else {"effort": sent})


def test_fields_that_are_refused_stay_here_and_reasoning_is_still_asked_back() -> None:
    body = upstream_body(
        "xai",
        "grok-4.7",
        "responses",
        stop=["x"],
        presence_penalty=0,
        metadata={"a": "b"},
        text={"verbosity": "low"},
        include=["reasoning.encrypted_content"],
        prompt_cache_key="k",
        temperature=0.2,
    )
    assert without(body, "input") == {
        "store": False,
        "text": {},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
        "temperature": 0.2,
    }


def test_a_hosted_search_keeps_its_known_fields_and_a_clients_function_gets_another_name() -> None:
    hosted = {"type": "web_search", "external_web_access": True, "filters": {"allowed_domains": ["a.example"]}}
    named = {**TOOL, "name": "web_search"}
    body = upstream_body("xai", "grok-4.7", "responses", tools=[hosted, named, TOOL])
    assert sorted(tool.get("name", tool["type"]) for tool in body["tools"]) == [
        "clientfn_web_search",
        "f",
        "web_search",
    ]
    assert {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}} in body["tools"]


def test_outputs_follow_their_calls() -> None:
    body = upstream_body("xai", "grok-4.7", "responses", input=[user(), CALL, user("note"), OUTPUT], tools=[TOOL])
    assert body["input"] == [user(), CALL, OUTPUT, user("note")]


def test_messages_that_say_nothing_stay_here() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    empty = [
        {"type": "message", "role": "assistant", "content": []},
        {"role": "user", "content": ""},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "", "annotations": []}]},
    ]
    kept = [user(), {"role": "user", "content": [{"type": "input_text", "text": ""}, picture]}, CALL, OUTPUT]
    assert upstream_body("xai", "grok-4.6", "responses", input=[*kept, *empty])["input"] == kept
    assert upstream_body("openai", "gpt-5.5", "responses", input=[*kept, *empty])["input"] == [*kept, *empty]
