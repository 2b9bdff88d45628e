"""Recall: what models need back of calls whose reasoning their client did not keep.

A client that replays calls and nothing else would make a thinking model refuse its own history. So the reasoning and
the signatures of recent calls are remembered, per provider and conversation, as long as the process lives. What must
survive a restart travels through the client in an envelope; a client that keeps none wants nothing kept, so nothing of
it is written to a disk, and a model that refuses its history then gets a stand-in (``replay_required``, ``sign_calls``
of its dialect).
"""

from __future__ import annotations

from collections import OrderedDict

import orjson

from translators.events import Json
from translators.surrogates import clean_tree

REMEMBERED_CALLS = 4096
REMEMBERED_BYTES = 32 << 20


class Recall:
    """Payloads by (provider, scope, call id); the oldest go first."""

    def __init__(self, calls: int = REMEMBERED_CALLS, size: int = REMEMBERED_BYTES) -> None:
        self._most, self._room = calls, size
        self._kept: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()
        self._providers: dict[str, int] = {}

    def has(self, provider: str) -> bool:
        """Whether anything is remembered of this provider."""
        return provider in self._providers

    def find(self, provider: str, scope: str, call_id: str) -> Json | None:
        """What is remembered of a call (``text``, ``details``, ``calls``)."""
        kept = self._kept.get((provider, scope, call_id))
        return orjson.loads(kept) if kept is not None else None

    def note(self, provider: str, scope: str, call_id: str, payload: Json) -> None:
        """Remember a call."""
        data = orjson.dumps(clean_tree(payload))
        key = (provider, scope, call_id)
        if key in self._kept:
            self._forget(key)
        self._kept[key] = data
        self._room -= len(data)
        self._providers[provider] = self._providers.get(provider, 0) + 1
        while len(self._kept) > self._most or (self._room < 0 and self._kept):
            self._forget(next(iter(self._kept)))

    def _forget(self, key: tuple[str, str, str]) -> None:
        self._room += len(self._kept.pop(key))
        self._providers[key[0]] -= 1
        if not self._providers[key[0]]:
            del self._providers[key[0]]
