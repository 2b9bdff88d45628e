"""Announcement: tells people and other commands that this proxy listens."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path

from agentic_proxy.cli import output
from agentic_proxy.cli.runtime import Entry, Runtime
from agentic_proxy.config.model import Config
from agentic_proxy.config.paths import state_directory
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact


class Announcement:
    """One process and its entry in the runtime file. ``file`` is its configuration's, None when it has none."""

    def __init__(self, file: Path | None, *, hints: bool) -> None:
        self._entry = Entry(os.getpid(), "", "", str(file.resolve()) if file else "", "")
        self._runtime = Runtime(state_directory(os.environ))
        self._hints = hints
        self._token = ""

    def admitting(self, config: Config) -> Config:
        """What to serve ``config`` with: where clients need a key, other commands get one of their own, for the user's
        are written nowhere. It stays the same as long as the process lives."""
        keys = config.server.api_keys
        if keys:
            if not self._token:
                self._token = secrets.token_urlsafe(32)
                redact.register(self._token)
            keys = (*keys, Secret(self._token))
        self._entry = replace(self._entry, token=self._token if keys else "", model=config.models.default or "")
        return replace(config, server=replace(config.server, api_keys=keys))

    def made(self, url: str) -> None:
        """The proxy listens at ``url``."""
        local = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        self._entry = replace(self._entry, url=local)
        self.entered()
        output.say(f"listening on {url}")
        if self._hints:
            from agentic_proxy.cli.hints import hints

            for line in hints(local, needs_key=bool(self._entry.token)):
                output.say(line)

    def entered(self) -> None:
        """Put the entry into the runtime file as it is now."""
        try:
            self._runtime.add(self._entry)
        except OSError as error:
            path = self._runtime.path
            output.warn(f"{path}: {error.strerror or error}: other commands will not find this proxy")

    def withdrawn(self) -> None:
        """The proxy listens no more."""
        try:
            self._runtime.remove(self._entry.pid)
        except OSError:
            pass  # The next proxy sees that this process is gone.
