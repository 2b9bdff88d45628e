"""How much work something is, counted and not timed: the lines of Python that it executes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(run: Callable[[], object]) -> int:
    """The lines that ``run`` executes, in whatever it calls."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def grows(work: Callable[[int], Callable[[], object]], size: int = 40) -> float:
    """By which factor the steps grow when the size is eight times as large: about 8 for work that is linear."""
    return steps(work(8 * size)) / steps(work(size))
