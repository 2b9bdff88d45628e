"""What raw runs of deltas say, read from their bytes without parsing the events."""

from __future__ import annotations

import re

import orjson

from translators.events import Run

__all__ = ["names_item", "texts_of"]

_DELTA = re.compile(rb'"delta": ?("(?:[^"\\]|\\.)*")')


def texts_of(run: Run) -> list[str] | None:
    """The texts of a run's deltas; None when a frame has none, or more than one."""
    raw = _DELTA.findall(run.block)
    if len(raw) != run.count:
        return None
    try:
        texts: list[str] = orjson.loads(b"[" + b",".join(raw) + b"]")
    except orjson.JSONDecodeError:
        return None
    return texts


def names_item(run: Run, identity: str) -> bool:
    """Whether every frame of a run names the item by this id."""
    name = identity.encode()
    return run.block.count(b'"item_id":"%b"' % name) + run.block.count(b'"item_id": "%b"' % name) == run.count
