"""Recipe: how one coding agent is pointed at the proxy, for one run or for good.

A recipe is data and two pure functions; ``run`` and ``init`` do the work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_proxy.config.paths import expanded

TOKEN_VARIABLE = "AGENTIC_PROXY_API_KEY"
"""The environment variable from which a client takes the proxy's key."""
DEFAULT_URL = "http://127.0.0.1:8484"
"""Where the proxy is unless somebody chose another port."""
MODEL = "PROVIDER/MODEL"
"""Where a person puts the name of a model."""
NO_TOKEN = "none"
"""What stands there when the proxy asks for no key: clients refuse an empty one."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the proxy is. ``url`` has no path; ``token`` is "" when it asks for none; ``model`` a name it routes, ""
    when nobody chose."""

    url: str
    token: str
    model: str


@dataclass(frozen=True, slots=True)
class Launch:
    """What a run needs: ``files`` to be written into a home of its own (relative path -> text), ``environment`` on top
    of the user's, and ``arguments`` that come before the user's."""

    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """A block for one of the client's own files. ``path`` is relative to its folder; ``tables`` are the dotted names
    that the block may define; those that it does, the rest of the file must not."""

    path: str
    text: str
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JsonSetting:
    """Members for one of the client's own JSON files: the first of ``paths``, relative to its folder, that is there,
    else the first one."""

    paths: tuple[str, ...]
    members: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One coding agent.

    Attributes:
        binary: The program's name on PATH.
        binary_variable: An environment variable that may name it instead.
        install: How to get it, for people.
        launch: (connection, folder that will hold ``files``) -> what one run needs.
        home_variable, home: Where its own settings are: an environment variable, else this folder below HOME.
        links: Names in that folder that a run may read: files, or folders whose entries are linked one by one.
        settings: What ``init`` installs.
        usage: How to start it once ``init`` has installed them, with ``MODEL`` where a model stands.
        needs_model: Whether they cannot be made without a model.
    """

    name: str
    title: str
    binary: str
    binary_variable: str
    install: str
    launch: Callable[[Connection, Path], Launch]
    settings: Callable[[Connection], tuple[Setting | JsonSetting, ...]]
    usage: str
    home_variable: str = ""
    home: str = ""
    links: tuple[str, ...] = ()
    needs_model: bool = False

    def own_home(self, environ: Mapping[str, str]) -> Path:
        """The folder with the user's own settings of this client; it may not exist."""
        if self.home_variable and environ.get(self.home_variable):
            return expanded(environ[self.home_variable])
        below, _, name = self.home.partition("/")
        if below == ".config" and environ.get("XDG_CONFIG_HOME"):
            return Path(environ["XDG_CONFIG_HOME"]) / name
        return Path(environ.get("HOME") or expanded("~")) / self.home


def quoted(text: str) -> str:
    """A text as JSON and TOML both write it."""
    return json.dumps(text, ensure_ascii=False)
