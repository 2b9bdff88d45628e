"""Take credentials out of text that leaves the program: logs, upstream messages, errors, warnings.

Two nets: the values the program knows (registered when the configuration is read) and the shapes that credentials
have. Rather one harmless word too many than one key. Every pattern is linear: no nested repetition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import quote

MASK = "***"
SHORTEST = 6
"""Shorter values are not registered: replacing ``x`` everywhere would ruin every text and protect nothing."""

_LINES = r"(?:proxy-)?authorization|(?:set-)?cookie"
_WORDS = r"(?:x-)?(?:goog-)?api[-_]?key|(?:access|refresh|auth|id)[-_]token|client[-_]secret|password"
# As in a header, in JSON (also inside a JSON text), in a Python repr, in a query string.
_TO = r"""\\?["']?\s{0,4}[:=]\s{0,4}(?:b?\\?["'])?"""
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    # These values have several words: everything to the end of the line or of the quoted text belongs to them.
    (re.compile(rf"""(?i)(\b(?:{_LINES}){_TO})[^\r\n"'\\]+"""), rf"\1{MASK}"),
    (re.compile(rf"""(?i)(\b(?:{_WORDS}){_TO})[^\s"'\\&,;<>}}\]]+"""), rf"\1{MASK}"),
    # But not the words of "missing bearer or basic authentication in header".
    (
        re.compile(r"(?i)\b(bearer|basic)(\s+)(?!auth|token\b|credential|realm)[A-Za-z0-9._~+/=|*-]{6,}"),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|sig|signature)=)[^\s\"'&<>#]+"), rf"\1{MASK}"),
    # The user name and password of a URL.
    (re.compile(r"(://)[^\s/@\"'<>]{1,512}@"), rf"\1{MASK}@"),
    (
        re.compile(
            r"\b(?:sk-|xai-|pk-|rk-|gsk_|hf_|gh[pousr]_|github_pat_|nvapi-|tvly-|csk-|LLM\||AKIA|AIza)"
            r"[A-Za-z0-9_*.|-]{4,}"
        ),
        MASK,
    ),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"), MASK),
)

_known: set[str] = set()
_known_pattern: re.Pattern[str] | None = None


def register(value: str) -> None:
    """Never show ``value`` again, nor its form inside a URL. Shorter than 6 characters: ignored."""
    global _known_pattern
    if len(value) < SHORTEST:
        return
    _known.update((value, quote(value, safe="")))
    longest_first = sorted(_known, key=len, reverse=True)
    _known_pattern = re.compile("|".join(map(re.escape, longest_first)))


def forget_all() -> None:
    """Empty the register, for a new configuration."""
    global _known_pattern
    _known.clear()
    _known_pattern = None


def redact(text: str) -> str:
    """``text`` with ``***`` in place of every credential; other text unchanged."""
    if _known_pattern is not None:
        text = _known_pattern.sub(MASK, text)
    for pattern, replacement in _SHAPES:
        text = pattern.sub(replacement, text)
    return text


def redact_value(value: Any) -> Any:
    """A copy of ``value`` in which every text is redacted, in lists and mappings too; bytes are shown as text."""
    match value:
        case str():
            return redact(value)
        case None | bool() | int() | float():
            return value
        case bytes() | bytearray():
            return redact(value.decode("utf-8", "replace"))
        case Mapping():
            return {redact_value(key): _member(key, item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [redact_value(item) for item in value]
        case _:
            return redact(repr(value))


_SECRET_NAME = re.compile(rf"(?i){_LINES}|{_WORDS}")


def _member(key: Any, value: Any) -> Any:
    if isinstance(key, str) and isinstance(value, str | bytes) and _SECRET_NAME.fullmatch(key):
        return MASK
    return redact_value(value)


def processor(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: redacts every value of a log entry. Stands right before the renderer."""
    for key, value in event.items():
        event[key] = _member(key, value)
    return event
