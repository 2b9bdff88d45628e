"""How long an upstream's headers ask to wait.

Wire facts: ``retry-after-ms`` (OpenAI) goes before ``retry-after``: seconds or an HTTP date (RFC 9110, 10.2.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, None where nothing is said. ``headers`` have lower-case names; ``now`` is Unix seconds, and the
    upstream's own ``date`` goes before it: its clock may be wrong."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            seconds = float(value) * scale
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    at = _moment(headers.get("retry-after", ""))
    if at is None:
        return None
    return max(0.0, at - (_moment(headers.get("date", "")) or now))


def _moment(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
