"""Durations and sizes as people write them."""

from __future__ import annotations

import math
import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?b|b)?", re.ASCII | re.IGNORECASE)
_BYTES = {
    "b": 1,
    **{f"{letter}ib": 1 << 10 * power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
}


def parse_duration(value: float | str, *, zero: bool = False) -> float:
    """Seconds of ``"10s"``, ``"500ms"``, ``"5m"``, ``"1h"``, ``"30d"`` or a plain number.

    Raises ValueError for anything else, and for zero unless ``zero`` allows it.
    """
    number, unit = _parts(value, _DURATION)
    seconds = number * _SECONDS[unit or "s"]
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and not zero):
        raise ValueError("not a usable duration")
    return seconds


def parse_size(value: float | str) -> int:
    """Bytes of ``"64MiB"`` (1,024s), ``"64MB"`` (1,000s) or a plain number; at least 1. Raises ValueError."""
    number, unit = _parts(value, _SIZE)
    size = number * _BYTES[(unit or "b").lower()]
    if not math.isfinite(size) or size < 1:
        raise ValueError("not a usable size")
    return int(size)


def _parts(value: float | str, form: re.Pattern[str]) -> tuple[float, str | None]:
    if not isinstance(value, str):
        return float(value), None
    match = form.fullmatch(value.strip())
    if match is None:
        raise ValueError("not a number with a unit")
    return float(match[1]), match[2]
