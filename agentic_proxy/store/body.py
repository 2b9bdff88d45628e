"""The Response object as it is kept: without its tools and output, whose bytes the store has anyway.

Only bytes are cut and put back, where they happen to stand in the object as well; nothing is parsed, and what was
given comes back exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

SHORTEST = 64
"""Bytes that are worth cutting."""


class Body(NamedTuple):
    """``tools_at`` and ``output_at``: where in the whole object the cut bytes stood; None when they are still there."""

    data: bytes
    tools_at: int | None = None
    output_at: int | None = None


def cut(data: bytes, tools: bytes | None, output: Sequence[bytes]) -> Body:
    """Cut the tools, and the output items as they stand in a JSON array."""
    joined = b",".join(output)
    tools_at = _find(data, tools or b"")
    output_at = _find(data, joined)
    cuts = [(at, len(part)) for at, part in ((tools_at, tools), (output_at, joined)) if at is not None and part]
    cuts.sort()
    if len(cuts) == 2 and cuts[0][0] + cuts[0][1] > cuts[1][0]:
        # One inside the other: the longer one is worth more.
        return cut(data, None, output) if len(joined) >= len(tools or b"") else cut(data, tools, ())
    for at, length in reversed(cuts):
        data = data[:at] + data[at + length :]
    return Body(data, tools_at, output_at)


def whole(body: Body, tools: bytes | None, output: Iterable[bytes]) -> bytes:
    """Put back what ``cut`` took out."""
    data = body.data
    parts = [(at, part) for at, part in ((body.tools_at, tools), (body.output_at, b",".join(output))) if at is not None]
    for at, part in sorted(parts, key=lambda each: each[0]):
        data = data[:at] + (part or b"") + data[at:]
    return data


def _find(data: bytes, part: bytes) -> int | None:
    if len(part) < SHORTEST:
        return None
    at = data.find(part)
    return None if at < 0 else at
