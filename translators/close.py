"""Close: how an upstream response ended properly, in one shape for every wire format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from translators.events import Json


@dataclass(frozen=True, slots=True)
class Close:
    """A proper end: Responses ``completed | incomplete | done``; Chat a finish_reason, then ``[DONE]`` or a clean EOF.

    ``reason`` says why a response is incomplete (``max_output_tokens``, ``content_filter``); ``response`` is the
    upstream's own final object where its format has one; ``usage`` is in Responses shape with integers, or None.
    """

    status: Literal["completed", "incomplete"]
    reason: str | None = None
    response: Json | None = None
    usage: Json | None = None
