"""Preview: which upstream models may stream the input of tool calls live.

A model whose calls are right may: the client sees a patch while it is written. A model that had a call refused or
repaired among its last 20 may not: its calls are held until they are judged, so that a refused one can be asked for
again without the client having seen anything of it.
"""

from __future__ import annotations

from collections import OrderedDict, deque

REMEMBERED_CALLS = 20
REMEMBERED_MODELS = 1000


class Previews:
    """Outcomes of the last calls per (provider, upstream model)."""

    def __init__(self) -> None:
        self._calls: OrderedDict[tuple[str, str], deque[bool]] = OrderedDict()

    def live(self, provider: str, model: str) -> bool:
        """Whether this model's calls may be shown while they are written."""
        return all(self._calls.get((provider, model), ()))

    def note(self, provider: str, model: str, *, clean: bool) -> None:
        """One call ended: ``clean`` means neither refused nor repaired."""
        key = (provider, model)
        calls = self._calls.get(key)
        if calls is None:
            calls = self._calls[key] = deque(maxlen=REMEMBERED_CALLS)
            if len(self._calls) > REMEMBERED_MODELS:
                self._calls.popitem(last=False)
        calls.append(clean)
