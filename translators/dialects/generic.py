"""An unknown OpenAI-compatible server: the defaults."""

from __future__ import annotations

from translators.dialects.base import Dialect

GENERIC = Dialect()


def generic(model: str) -> Dialect:
    """The dialect of a model: one for all."""
    return GENERIC
