"""Keys of the schema that have no effect yet: accepted at their default, otherwise refused by name.

A setting that silently does nothing is worse than one that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentic_proxy.config.errors import KeyPath, Report

_EMPTY: tuple[Any, ...] = (None, {}, [])

NOT_YET: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("plugins",): _EMPTY,
}
"""Path (``*``: every list item) and the values that may stand there."""

def check_availability(data: Any, report: Report) -> None:
    """Report what was set and does not work yet. ``data`` has passed the schema, durations and sizes are numbers."""
    for pattern, allowed in NOT_YET.items():
        for path, value in _values(data, pattern, ()):
            if value not in allowed:
                report.add(path, "not available yet")


def _values(data: Any, pattern: tuple[str, ...], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if not pattern:
        yield path, data
    elif pattern[0] == "*" and isinstance(data, list):
        for position, item in enumerate(data):
            yield from _values(item, pattern[1:], (*path, position))
    elif isinstance(data, dict) and pattern[0] in data:
        yield from _values(data[pattern[0]], pattern[1:], (*path, pattern[0]))
