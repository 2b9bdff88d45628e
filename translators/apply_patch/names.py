"""Names under which models call ``apply_patch`` although it was declared with that name (row 32)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["TOOL", "drifted"]

TOOL: Final = "apply_patch"
_FOLDED: Final = frozenset({"applypatch", "functionsapplypatch", "repobrowserapplypatch", "containerexecapplypatch"})
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")


def drifted(name: str, declared: Iterable[str]) -> str | None:
    """The declared flat name that a call under an undeclared name means, or None.

    ``apply_patch`` is meant by ``functions.apply_patch``, ``applypatch``, ``apply-patch``, ``ApplyPatch``,
    ``repo_browser.apply_patch`` and ``container.exec`` with ``apply_patch`` in it. Only when exactly one declared name
    is the patch tool (``apply_patch``, or a namespace's ``…__apply_patch``); a name that is declared itself is never
    mapped.
    """
    names = set(declared)
    if name in names or _SEPARATORS.sub("", name.lower()) not in _FOLDED:
        return None
    tools = [known for known in names if known == TOOL or known.endswith("__" + TOOL)]
    return tools[0] if len(tools) == 1 else None
