"""Links: which output of a history belongs to which call. Hosts repeat call ids, over turns and within one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def linked(items: Sequence[Any]) -> dict[int, int]:
    """The place of the output by the place of its call. Calls stand together until an output or the user's word comes;
    an output belongs to the last such group with an open call of its id, and there to the first of them."""
    open_calls: dict[str, list[tuple[int, int]]] = {}
    links: dict[int, int] = {}
    group, ended = 0, False
    for index, item in enumerate(items):
        kind = item.get("type", "message") if isinstance(item, dict) else None
        call_id = item.get("call_id") if isinstance(item, dict) else None
        if kind == "function_call":
            group, ended = group + ended, False
            if isinstance(call_id, str):
                open_calls.setdefault(call_id, []).append((group, index))
        elif kind == "function_call_output":
            ended = True
            waiting = open_calls.get(call_id) if isinstance(call_id, str) else None
            if waiting:
                last = waiting[-1][0]
                place = next(place for place, (its, _) in enumerate(waiting) if its == last)
                links[waiting.pop(place)[1]] = index
        elif kind == "message" and item.get("role") != "assistant":
            ended = True
    return links
