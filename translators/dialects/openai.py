"""OpenAI's own fields (public API reference): newer Chat fields, and reasoning that only OpenAI can read."""

from __future__ import annotations

from translators.dialects.base import Dialect

OPENAI = Dialect(
    name="openai",
    max_tokens_field="max_completion_tokens",
    cache_key_field="prompt_cache_key",
    encrypted_reasoning="open",
)


def openai(model: str) -> Dialect:
    """The dialect of a model: one for all."""
    return OPENAI
