"""The upstreams' own model lists: fetched when somebody needs them, kept for a while, never fetched twice at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.models import Listed, ModelTable, Routable, Target
from translators.failure import Failure

FRESH = 300.0
"""Seconds that fetched lists are used without asking again."""
RETRY = 30.0
"""Seconds until a provider that did not answer is asked again; until then its last list stays."""


class ModelLists:
    """The model table of the configuration plus what the upstreams list.

    Only providers without configured models are asked, and only when a bare name or the model list needs it.
    ``clock`` gives monotonic seconds.
    """

    def __init__(
        self, table: ModelTable, executors: Mapping[str, Executor], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.table = table
        self._clock = clock
        self._sources = {name: each for name, each in executors.items() if each.provider.models is None}
        self._due = dict.fromkeys(self._sources, float("-inf"))
        self._listed: Listed = {}
        self.unlisted: dict[str, str] = {}
        """Why a provider's list could not be had when it was last asked for, for people."""
        self._fetching: asyncio.Task[None] | None = None

    async def resolve(self, name: str | None) -> list[Target]:
        """Targets for the client's model name, best first. Raises what ``ModelTable.resolve`` raises."""
        if self._sources and self.table.needs_lists(name):
            await self.listed()
        return self.table.resolve(name, self._listed)

    async def names(self) -> list[Routable]:
        """Every name that can be routed now."""
        return self.table.names(await self.listed())

    async def listed(self) -> Listed:
        """Model ids by provider name, at most five minutes old where the upstream answers. The same object as long as
        nothing changed. Waits at most as long as the executors' own limit (2 seconds)."""
        if self._fetching is None:
            now = self._clock()
            due = [name for name, at in self._due.items() if at <= now]
            if not due:
                return self._listed
            self._fetching = asyncio.create_task(self._fetch(due))
        # Shielded: a client that leaves must not cancel what others wait for.
        await asyncio.shield(self._fetching)
        return self._listed

    async def close(self) -> None:
        """End a fetch that is still running."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)

    async def _fetch(self, names: list[str]) -> None:
        try:
            answers = await asyncio.gather(
                *(self._sources[name].list_models() for name in names), return_exceptions=True
            )
            now = self._clock()
            changed = dict(self._listed)
            for name, answer in zip(names, answers, strict=True):
                if isinstance(answer, list):
                    changed[name] = answer
                    self._due[name] = now + FRESH
                    self.unlisted.pop(name, None)
                else:
                    changed.setdefault(name, None)
                    self._due[name] = now + RETRY
                    self.unlisted[name] = answer.message if isinstance(answer, Failure) else "It is not known why."
            if changed != self._listed:
                self._listed = changed
        finally:
            self._fetching = None
