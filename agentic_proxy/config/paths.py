"""Where the program's own files are."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

CONFIG_NAME = "config.yaml"


def expanded(path: str) -> Path:
    """A path with the home in the place of a leading ``~``. As in a shell it stays as it is where there is no such
    user, or no home: a container's user may have none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def config_file(flag: str | None, environ: Mapping[str, str]) -> tuple[Path, str]:
    """The configuration file to use and who chose it (``flag``, ``env ...`` or ``default``); it may not exist.

    ``--config``, else AGENTIC_PROXY_CONFIG, else ``config.yaml`` in AGENTIC_PROXY_HOME, else in the platform's folder
    for settings (``$XDG_CONFIG_HOME/agentic_proxy`` on Linux).
    """
    if flag is not None:
        return expanded(flag), "flag --config"
    for variable, rest in (("AGENTIC_PROXY_CONFIG", ""), ("AGENTIC_PROXY_HOME", CONFIG_NAME)):
        if environ.get(variable):
            return expanded(environ[variable]) / rest, f"env {variable}"
    import platformdirs

    return platformdirs.user_config_path("agentic_proxy", appauthor=False) / CONFIG_NAME, "default"


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where the program keeps what it writes itself (runtime file, logs, homes of clients); it may not exist.

    AGENTIC_PROXY_HOME, else the platform's folder for state (``$XDG_STATE_HOME/agentic_proxy`` on Linux).
    """
    if home := environ.get("AGENTIC_PROXY_HOME"):
        return expanded(home)
    import platformdirs

    return platformdirs.user_state_path("agentic_proxy", appauthor=False)


def exposed(directory: Path) -> str | None:
    """What lets other users of this machine replace the files in ``directory`` (the local key, the history, the runtime
    file that says where a proxy runs), and what to do; None where nothing does, or where there is no such directory."""
    if sys.platform == "win32":
        return None
    try:
        found = os.stat(directory)
    except OSError:
        return None
    if found.st_uid not in (os.geteuid(), 0):
        return f"{directory}: belongs to another user, who can replace what is kept there: name a directory of your own"
    if found.st_mode & stat.S_IWOTH:
        return f"{directory}: every user can write here and replace what is kept: chmod o-w {directory}"
    return None
