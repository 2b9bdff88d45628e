"""Reloader: reads the configuration again when it is asked to, or when a file of it has changed, and tells the server
and the user. A configuration that cannot be used changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from agentic_proxy.cli import output
from agentic_proxy.cli.aside import aside
from agentic_proxy.cli.chosen import Chosen
from agentic_proxy.config.changes import changes
from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.model import Config
from agentic_proxy.config.reload import following
from agentic_proxy.config.watch import Watch, writable_by_everybody
from agentic_proxy.observe import redact
from agentic_proxy.observe.log import get_logger

EVERY = 0.5
"""Seconds between two looks at the files; a change is taken up at the second look that finds it."""

_log = get_logger(__name__)


class Voice(Protocol):
    """Where people are told: ``cli/output.py``, or a log."""

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def fail(self, text: str) -> None: ...


class Admission(Protocol):
    """Who else than the configuration says is let in."""

    def admitting(self, config: Config) -> Config:
        """What to serve ``config`` with."""
        ...

    def entered(self) -> None:
        """The last one is in force. Called in a thread."""
        ...


class Reloader:
    """``chosen`` is in force and was read with ``watch``; ``read`` reads it again, in a thread.

    ``without_keys``: other machines may be let in without one.
    """

    def __init__(
        self,
        chosen: Chosen,
        watch: Watch,
        read: Callable[[Watch], Chosen],
        admission: Admission,
        *,
        without_keys: bool,
        voice: Voice = output,
    ) -> None:
        self._config = chosen.config
        self._file = chosen.file
        self._ran = chosen.plugins
        self._watch = watch
        self._read = read
        self._admission = admission
        self._without_keys = without_keys
        self._voice = voice
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Read it again, whether or not anything has changed; once more if that is being done just now."""
        self._asked.set()

    async def run(self, follow: Callable[[Config], None]) -> None:
        """Hand ``follow`` every configuration that can be used, one after the other, until cancelled."""
        while True:
            await self._due()
            await self._reload(follow)

    async def _due(self) -> None:
        while not self._asked.is_set():
            try:
                async with asyncio.timeout(EVERY):
                    await self._asked.wait()
            except TimeoutError:
                if self._watch.moved() and await asyncio.to_thread(self._watch.differs) and not self._doubtful():
                    return
        self._asked.clear()

    def _doubtful(self) -> bool:
        """Whether anybody could have written what has changed. It may name commands and addresses, so the user has to
        ask for it."""
        file = self._file
        if file is None or not writable_by_everybody(file):
            return False
        self._watch = self._watch.renewed()
        self._voice.warn(
            f"{file} has changed, but every user of this machine can write it, so it is not read again by itself: "
            f"correct that with: chmod o-w {file}, look at what it says, and save it again or send this process SIGHUP"
        )
        return True

    async def _reload(self, follow: Callable[[Config], None]) -> None:
        watch, earlier = Watch(), await asyncio.to_thread(self._watch.renewed)
        try:
            chosen = await aside(partial(self._read, watch))
            source = str(chosen.file or "")
            config, kept = following(self._config, chosen.config, source=source, without_keys=self._without_keys)
            follow(self._admission.admitting(config))
        except ConfigError as error:
            self._voice.fail(str(error))
        except Exception:
            _log.exception("the proxy has a bug and cannot use the new configuration")
        else:
            before, self._config, self._watch = self._config, config, watch
            self._tell(before, kept if chosen.plugins == self._ran else (*kept, "plugins"))
            await asyncio.to_thread(self._admission.entered)
            await asyncio.to_thread(redact.read_again)
            return
        self._voice.fail("configuration not reloaded: the one before stays in force")
        # What was broken may not even name the files that it is to be mended with.
        watch.keep(earlier)
        self._watch = watch

    def _tell(self, before: Config, kept: tuple[str, ...]) -> None:
        after = self._config
        self._voice.say(f"configuration reloaded: {changes(before, after) or 'no setting has changed'}")
        for warning in after.warnings:
            if warning not in before.warnings:
                self._voice.warn(warning)
        if kept:
            self._voice.warn(f"restart needed for {', '.join(kept)}: what was there at the start stays in force")
