"""The environment of child processes, as it was before the frozen program's loader changed it."""

from __future__ import annotations

from collections.abc import Mapping

LOADER = "_PYI_"
"""How PyInstaller's bootloader names what it tells its own process. Another copy of this program must not see it."""
LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH")
"""Set by the bootloader to the bundled libraries; the user's own value, if there was one, is kept under NAME_ORIG."""
KEPT = "_ORIG"


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of ``environ`` for a program that is not part of this one.

    A coding agent or key command that loaded our bundled libraries instead of the system's would break. Without the
    bootloader's marks the copy is equal, so it may be called for any environment and more than once.
    """
    if not any(name.startswith(LOADER) for name in environ):
        return dict(environ)
    restored = {name: value for name, value in environ.items() if not name.startswith(LOADER)}
    for name in LIBRARY_PATHS:
        original = restored.pop(name + KEPT, None)
        restored.pop(name, None)
        if original is not None:
            restored[name] = original
    return restored
