"""Tokens of a text without a tokenizer."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from translators.words import tokens

TEXTS = {
    "Hello, Claude": 3,
    "You are a scientist": 4,
    "Say hello in three words.": 6,
    "def f(x):\n    return x + 1\n": 12,
    '{"name": "apply_patch", "arguments": {"input": "*** Begin Patch"}}': 17,
    "2026-11-29T19:54:31.123Z status=200 duration_ms=1532": 37,
    "代理位于编码代理和任何模型之间。它翻译请求,保持工具正常工作。": 20,
}
"""Counted by Qwen2.5's tokenizer."""


@pytest.mark.parametrize(("text", "counted"), TEXTS.items(), ids=lambda value: str(value)[:20])
def test_short_texts_are_near_what_a_tokenizer_says(text: str, counted: int) -> None:
    assert abs(tokens(text) - counted) <= max(1.5, 0.25 * counted)


def test_an_empty_text_is_nothing_and_more_text_is_never_less() -> None:
    assert tokens("") == 0
    text = "".join(TEXTS)
    counts = [tokens(text[:end]) for end in range(0, len(text), 7)]
    assert all(after >= before - 1 for before, after in pairwise(counts))


def test_a_long_text_of_one_character_takes_no_time() -> None:
    for character in ("a", " ", "\n", "-", "\\", "1", "é", "A"):
        begun = time.perf_counter()
        tokens(character * 200_000)
        assert time.perf_counter() - begun < 2.0
