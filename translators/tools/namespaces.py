"""Names: how a namespaced tool becomes one function name, the same on every turn.

Functions upstream have flat names of letters, digits, ``_`` and ``-``, at most 64 characters (OpenAI's rule, which
the others copied), and begin with a letter or ``_`` (Moonshot refuses a digit there). A name that had to be cut or
altered, or that collides with another tool's, ends in a fingerprint of what the client declared. Flat names are never
parsed: calls are restored from a map.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

__all__ = ["NAME_LIMIT", "fingerprinted", "flat_name"]

NAME_LIMIT: Final = 64
_DIGITS: Final = 16
_foreign = re.compile(r"[^A-Za-z0-9_-]")
_odd_start = re.compile(r"[0-9-]")


def flat_name(namespace: str | None, name: str) -> str:
    """The function name for a tool, before collisions are looked at.

    ``{namespace}__{name}``; a name that already begins with ``{namespace}__`` stays as it is. Codex passes on MCP
    names of more than 64 characters (74 seen), hence the cut.
    """
    joined = _joined(namespace, name)
    if len(joined) <= NAME_LIMIT and _foreign.search(joined) is None and not _odd_start.match(joined):
        return joined
    return fingerprinted(namespace, name)


def fingerprinted(namespace: str | None, name: str, salt: int = 0) -> str:
    """The readable beginning of the flat name, ``_`` and 16 hex digits of SHA-256 over (namespace, name)."""
    seed = f"{namespace or ''}\0{name}" + (f"\0{salt}" if salt else "")
    digest = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    joined = _foreign.sub("_", _joined(namespace, name))
    readable = (f"t{joined}" if _odd_start.match(joined) else joined)[: NAME_LIMIT - _DIGITS - 1]
    return f"{readable}_{digest}"


def _joined(namespace: str | None, name: str) -> str:
    if not namespace or name.startswith(f"{namespace}__"):
        return name
    return f"{namespace}__{name}"
