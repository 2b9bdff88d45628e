"""Holds: how many are using a thing that is to be closed once nobody does."""

from __future__ import annotations

import asyncio


class Holds:
    """``with holds:`` around each use, from any task and as often as wanted."""

    __slots__ = ("_count", "_free")

    def __init__(self) -> None:
        self._count = 0
        self._free = asyncio.Event()
        self._free.set()

    def __enter__(self) -> None:
        self._count += 1
        if self._count == 1:
            self._free.clear()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if self._count == 0:
            self._free.set()

    async def released(self) -> None:
        """Wait until nobody uses it. Only final when nobody new can come."""
        await self._free.wait()
