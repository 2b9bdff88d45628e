"""OpenAI's own fields (public API reference): newer Chat fields, and reasoning that only OpenAI can read."""

from __future__ import annotations

import re
from dataclasses import replace

from translators.dialects.base import Dialect

OPENAI = Dialect(
    name="openai",
    max_tokens_field="max_completion_tokens",
    cache_key_field="prompt_cache_key",
    original_images=True,
    encrypted_reasoning="open",
)

_SEES = re.compile(r"gpt-(?:4o|4\.[15]|[5-9])|chatgpt-|o[134](?!-mini)|o4-mini")
"""Models that see images, by the beginning of their names; programs of others speak like OpenAI too."""
_SEEING = replace(OPENAI, images_known=True)


def openai(model: str) -> Dialect:
    """The dialect of a model: one for all, but for what is known of its eyes."""
    return _SEEING if _SEES.match(model) else OPENAI
