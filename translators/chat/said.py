"""Said: what a stream said so far, where each delta may repeat all of it (MiniMax)."""

from __future__ import annotations


class Said:
    """The text of one kind of delta. It is kept in pieces: a text that grew by each of them would be copied each time,
    and only a delta that is as long as all before it can repeat it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def new(self, text: str) -> str:
        """What is new in a delta: all of it, or what stands behind all that came before."""
        new = text
        if self._size and len(text) >= self._size:
            before = "".join(self._pieces)
            new = text.removeprefix(before)
            self._pieces = [before]
        self._pieces.append(new)
        self._size += len(new)
        return new
