"""Servers for models on one's own machine."""

from __future__ import annotations

from typing import Any

import pytest

from support.dialects import CALL, OUTPUT, SUMMARY, TOOL, upstream_body, user
from translators.dialects.table import DIALECTS

NAMED = {"type": "function", "name": "f"}


@pytest.mark.parametrize(
    ("kind", "choice", "sent"),
    [
        ("ollama", "auto", None),
        ("ollama", "required", None),
        ("lm-studio", NAMED, "required"),
        ("llama.cpp", NAMED, "required"),
        ("vllm", NAMED, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_choices(kind: str, choice: Any, sent: Any) -> None:
    assert upstream_body(kind, "m", tools=[TOOL], tool_choice=choice).get("tool_choice") == sent


@pytest.mark.parametrize("kind", ["ollama", "vllm", "lm-studio", "llama.cpp"])
def test_reasoning_goes_back_as_text_and_booleans_in_schemas_do_not(kind: str) -> None:
    odd = {**TOOL, "parameters": {"type": "object", "properties": {"x": True}}}
    body = upstream_body(kind, "m", input=[user(), SUMMARY, CALL, OUTPUT], tools=[odd])
    field = "reasoning" if kind == "ollama" else "reasoning_content"
    assert body["messages"][1][field] == "think"
    assert body["tools"][0]["function"]["parameters"]["properties"] == {"x": {}}


def test_ollama_reads_encrypted_content_as_words_so_it_gets_none() -> None:
    assert DIALECTS["ollama"]("m").encrypted_reasoning == "none"


def test_llama_cpp_takes_no_reasoning_items_on_its_responses_endpoint() -> None:
    assert upstream_body("llama.cpp", "m", "responses", input=[user(), SUMMARY])["input"] == [user()]


def test_vllm_gets_items_in_their_plainest_form() -> None:
    """It takes an assistant's message with parts for one of its own, and refuses it without id and status."""
    parts = [{"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "b"}]
    thought = {"type": "reasoning", "id": "rs", "summary": [], "content": None, "encrypted_content": None}
    history = [
        user(),
        {"type": "message", "id": "msg", "role": "assistant", "phase": None, "content": parts},
        {"role": "assistant", "content": "c"},
        thought,
        {**CALL, "namespace": None},
        OUTPUT,
    ]
    assert upstream_body("vllm", "q", "responses", input=history)["input"] == [
        user(),
        {"role": "assistant", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
        {"type": "reasoning", "id": "rs", "summary": []},
        CALL,
        OUTPUT,
    ]
