"""Repeats: requests whose tool calls failed a short while ago.

A client that retries a failed turn sends the very same request. Asking the model again inside the proxy did not help
the first time, so the repeated request gets no inner retry and an ending on which the client stops.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable

from translators import surrogates
from translators.events import Json

REMEMBERED_SECONDS = 600.0
REMEMBERED_REQUESTS = 1000


def fingerprint(model: str, body: Json) -> bytes:
    """What makes two requests the same: model, input (but its ids: the proxy makes some up) and the tools' names."""
    tools, given = body.get("tools"), body.get("input")
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    if isinstance(given, list):
        given = [_without_id(item) for item in given]
    return hashlib.sha256(surrogates.dumps([model, given, names])).digest()


def _without_id(item: object) -> object:
    return {key: value for key, value in item.items() if key != "id"} if isinstance(item, dict) else item


class Repeats:
    """Fingerprints of requests that failed for their calls. ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed: OrderedDict[bytes, float] = OrderedDict()

    def failed_before(self, key: bytes) -> bool:
        """Whether this request failed within the last 10 minutes."""
        at = self._failed.get(key)
        return at is not None and self._clock() - at < REMEMBERED_SECONDS

    def note(self, key: bytes) -> None:
        """This request failed now."""
        self._failed.pop(key, None)
        self._failed[key] = self._clock()
        while len(self._failed) > REMEMBERED_REQUESTS:
            self._failed.popitem(last=False)
