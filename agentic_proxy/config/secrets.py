"""Secret: a string that cannot be printed by accident."""

from __future__ import annotations


class Secret:
    """A credential. ``str``, ``repr`` and formatting give ``***``; only ``reveal()`` gives the value."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that puts it on the wire."""
        return self._value

    def __str__(self) -> str:
        return "***"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a Secret cannot be pickled")
