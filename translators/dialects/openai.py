"""OpenAI's own Chat Completions fields (public API reference)."""

from __future__ import annotations

from translators.dialects.base import Dialect

OPENAI = Dialect(
    name="openai",
    max_tokens_field="max_completion_tokens",
    cache_key_field="prompt_cache_key",
)
