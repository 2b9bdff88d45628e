"""OpenAI's own dialect."""

from __future__ import annotations

from support.dialects import TOOL, upstream_body, without
from translators.dialects.openai import OPENAI, openai


def test_newer_chat_fields_and_reasoning_of_its_own() -> None:
    asked = {"max_output_tokens": 9, "prompt_cache_key": "k", "reasoning": {"effort": "none"}, "tools": [TOOL]}
    assert without(upstream_body("openai", "gpt-5.5", **asked), "messages", "tools") == {
        "max_completion_tokens": 9,
        "reasoning_effort": "none",
        "prompt_cache_key": "k",
    }
    assert (openai("any"), OPENAI.encrypted_reasoning) == (OPENAI, "open")
