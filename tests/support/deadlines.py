"""Deadlines that a test lets pass: when the upstream has fallen silent, and never because the machine is busy.

    upstream.silent = let_pass   # a script's STALL is the end of the engine's patience with that upstream
"""

from __future__ import annotations

from types import TracebackType
from typing import ClassVar

from agentic_proxy.engine.deadline import Deadline


class Watched(Deadline):
    """The engine's own deadline; the fixture ``no_pauses`` puts it into its place. ``running`` are those entered."""

    running: ClassVar[set[Watched]] = set()

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self._over = False

    async def __aenter__(self) -> Deadline:
        self.running.add(self)
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.running.discard(self)
        await super().__aexit__(kind, error, trace)

    @property
    def since(self) -> float | None:
        """When the upstream was last heard, by the loop's clock. None while somebody else is being waited for."""
        return self._since

    def touch(self, seconds: float) -> None:
        super().touch(0.0 if self._over else seconds)

    def end(self) -> None:
        """Nothing more will come: it passes now, or as soon as it is no longer paused."""
        self._over = True
        self._limit = 0.0
        self._arm(0.0)


def let_pass() -> None:
    """End all of them."""
    for deadline in Watched.running:
        deadline.end()
