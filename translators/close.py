"""Close: how an upstream response ended properly, in one shape for every wire format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from translators.events import Json
from translators.surrogates import clean

STOPPED = "stop_sequence"
"""Where a finished hub response says which stop sequence ended its text, if that is known."""


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


def stopped(sequence: object) -> Json | None:
    """What a close brings along for the response when a stop sequence ended it; None for anything but a text."""
    return {STOPPED: clean(sequence)} if isinstance(sequence, str) and sequence else None
