"""How long an upstream asks to be left alone: what its error object and its message say, and how a client is told.

Wire facts: Codex 0.171.0 obeys "try again in 2s" and "500ms" in the message of a ``response.failed``; OpenAI and Groq
word it "try again in 7m12.5s", Gemini "retry in 17.3s" and a RetryInfo detail, Codex's back end ``resets_in_seconds``,
Meta ``resets_at``.
"""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["says_when", "stated_wait", "told_when"]

_PART: Final = r"\d{1,9}(?:\.\d{1,9})?"
_WAIT: Final = re.compile(
    r"\b(?:try again|retry) (?:in|after) (?:(?P<h>\d{1,4}) ?h(?:ours?)?)? ?"
    r"(?:(?P<m>\d{1,6}) ?m(?:in(?:utes?)?)?(?!s))? ?"
    rf"(?:(?P<s>{_PART}) ?(?P<unit>ms|milliseconds?|s(?:ec(?:onds?)?)?))?\b",
    re.I,
)
_LONGEST: Final = 999_999_999
"""Seconds, some 31 years: as many digits as are read."""
_DELAY: Final = re.compile(rf"({_PART})s")
_CODEX: Final = re.compile(rf"try again in {_PART} ?(?:ms|s)\b", re.I)


def stated_wait(error: dict[str, Any], message: str) -> float | None:
    """Seconds that an error object states beside or inside its message; None when it states none."""
    given = error.get("resets_in_seconds")
    if isinstance(given, (int, float)) and not isinstance(given, bool) and given >= 0:
        return float(given)
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (found := _DELAY.fullmatch(delay)):
            return float(found[1])
    for found in _WAIT.finditer(message):
        hours, minutes, seconds = found["h"], found["m"], found["s"]
        if hours or minutes or seconds:
            scale = 0.001 if (found["unit"] or "").lower().startswith("m") else 1.0
            return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0) * scale
    return None


def says_when(error: dict[str, Any]) -> float | None:
    """The Unix time in seconds at which an error object says that its limit ends."""
    given = error.get("resets_at")
    return float(given) if isinstance(given, (int, float)) and not isinstance(given, bool) and given > 0 else None


def told_when(message: str, wait: float | None) -> str:
    """The message with "try again in Ns" in the form that clients obey, unless it says so already."""
    if wait is None or _CODEX.search(message):
        return message
    seconds = f"{min(max(0.001, wait), _LONGEST):.3f}".rstrip("0").rstrip(".")
    return f"{message.rstrip()} Please try again in {seconds}s."
