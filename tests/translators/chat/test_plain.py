"""Chunks that hold nothing but a piece of text."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.plain import plain_text


def chunk(delta: Any, **choice: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}]}


@pytest.mark.parametrize(
    ("given", "name", "text"),
    [
        (chunk({"content": "a"}), "content", "a"),
        (chunk({"role": "assistant", "content": "a"}), "content", "a"),
        (chunk({"reasoning": "a"}), "reasoning", "a"),
        (chunk({"content": "a"}), "reasoning", None),
        (chunk({"content": "a", "tool_calls": []}), "content", None),
        (chunk({"content": 7}), "content", None),
        (chunk({"content": "a"}, finish_reason="stop"), "content", None),
        (chunk({"content": "a"}, index=1), "content", None),
        ({**chunk({"content": "a"}), "usage": {"total_tokens": 1}}, "content", None),
        ({**chunk({"content": "a"}), "error": {}}, "content", "a"),
        ({**chunk({"content": "a"}), "error": {"message": "x"}}, "content", None),
        ({"choices": []}, "content", None),
        (None, "content", None),
    ],
)
def test_the_text_is_taken_only_where_there_is_nothing_else(given: Any, name: str, text: str | None) -> None:
    assert plain_text(given, name) == text
