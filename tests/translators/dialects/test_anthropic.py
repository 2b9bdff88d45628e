"""What differs between Anthropic's models."""

from __future__ import annotations

import pytest

from support.dialects import CALL, OUTPUT, TOOL, upstream_body, user
from translators.dialects.adapt import adapt
from translators.dialects.anthropic import anthropic
from translators.messages.from_hub import build
from translators.refusals import taught


@pytest.mark.parametrize(
    ("model", "thinking", "sampling", "later_system", "limit"),
    [
        ("claude-3-haiku-20240307", "enabled", True, False, 4096),
        ("claude-3-5-sonnet-20241022", "enabled", True, False, 8192),
        ("claude-opus-4-1-20250805", "enabled", True, False, 32_000),
        ("claude-sonnet-4-20250514", "enabled", True, False, 64_000),
        ("claude-sonnet-4-5-20250929", "enabled", True, False, 64_000),
        ("claude-opus-4-6", "adaptive", True, False, None),
        ("claude-opus-4-7", "adaptive", False, False, None),
        ("claude-opus-4.8", "adaptive", False, True, None),
        ("claude-fable-5", "adaptive", False, True, None),
        ("claude-next", "adaptive", False, True, None),
        ("another-model", "enabled", True, False, None),
    ],
)
def test_the_version_decides(model: str, thinking: str, sampling: bool, later_system: bool, limit: int | None) -> None:
    made = anthropic(model)
    assert (made.thinking_on, not made.refused, made.later_system, made.max_tokens_limit) == (
        thinking,
        sampling,
        later_system,
        limit,
    )


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("claude-opus-4-6", "xhigh", "high"),
        ("claude-opus-4-6", "max", "max"),
        ("claude-sonnet-4-6", "max", "high"),
        ("claude-sonnet-4-6", "minimal", "low"),
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("claude-opus-5", "minimal", "low"),
    ],
)
def test_the_first_models_with_an_effort_have_fewer_levels(model: str, asked: str, sent: str) -> None:
    body = upstream_body("anthropic", model, "messages", reasoning={"effort": asked})
    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, {"effort": sent})
    off = upstream_body("anthropic", model, "messages", reasoning={"effort": "none"})
    assert off["thinking"] == {"type": "disabled"}


def test_a_temperature_of_openais_range_is_one_of_anthropics() -> None:
    assert adapt({"temperature": 1.7}, anthropic("claude-haiku-4-5"), None)[0] == {"temperature": 1.0}
    assert adapt({"temperature": 1.7}, anthropic("claude-opus-4-7"), None)[0] == {}


def test_a_request_for_a_summary_declares_the_tools_of_its_history() -> None:
    body = upstream_body("anthropic", "claude-opus-4-8", "messages", input=[user(), CALL, OUTPUT, user("Sum up.")])
    assert [tool["name"] for tool in body["tools"]] == [CALL["name"]]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(("kind", "wire"), [("anthropic", "messages"), ("gemini", "chat")])
def test_one_tool_in_words_of_an_older_draft_does_not_cost_the_request(kind: str, wire: str) -> None:
    pair = {"type": "array", "items": [{"type": "number"}, {"type": "number"}], "minItems": 2, "maxItems": 2}
    tool = {**TOOL, "parameters": {"type": "object", "properties": {"between": pair}}}
    sent = upstream_body(kind, "m", wire, tools=[tool])["tools"][0]
    schema = sent["input_schema"] if wire == "messages" else sent["function"]["parameters"]
    assert schema["properties"]["between"] == {**pair, "items": {"type": "number"}}


def test_a_model_that_always_thinks_is_not_told_to_stop() -> None:
    dialect = taught(anthropic("claude-fable-5"), ["thinking_always_on"])
    body, notes = build({"input": "hi", "reasoning": {"effort": "none"}}, "claude-fable-5", dialect)
    assert "thinking" not in body
    assert [note.rule for note in notes] == ["effort_left_out"]
