"""The program's version, and whether the packages it is about to import are its own."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import agentic_proxy

VERSION = "0.1.0"
"""A test keeps it equal to pyproject.toml and to translators.__version__."""


def version_line() -> str:
    """``agentic-proxy 0.1.0 (Python 3.11.9, source)``."""
    python = ".".join(map(str, sys.version_info[:3]))
    kind = "frozen" if getattr(sys, "frozen", False) else "source"
    return f"agentic-proxy {VERSION} (Python {python}, {kind})"


def foreign_translators() -> str | None:
    """A text for people when ``import translators`` would give, or gave, another project's package; else None.

    The name is taken on PyPI too, by a package that calls out to the network when it is imported. So its place is
    looked at first, without importing it; then, at the right place, its version: the other package may have been
    installed over ours.
    """
    spec = find_spec("translators")
    where = spec.origin if spec is not None else None
    ours = Path(agentic_proxy.__file__).resolve().parent.parent
    if where is None or Path(where).resolve().parent.parent != ours:
        found = f"at {where}" if where else "nowhere"
        return f'the package "translators" was found {found}, not beside agentic_proxy in {ours}; {_ADVICE}'
    import translators

    found_version = getattr(translators, "__version__", None)
    if found_version != VERSION:
        return f'the package "translators" at {where} has version {found_version}, not {VERSION}; {_ADVICE}'
    return None


_ADVICE = (
    "another project of that name gets in the way. Install agentic-proxy in an environment of its own: "
    "`pipx install agentic-proxy` or `uv tool install agentic-proxy`"
)
