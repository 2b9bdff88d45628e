"""Places: which output_index an event of a Responses upstream belongs to.

OpenAI names item id and index in every event. Others leave out one or both (llama.cpp sends no index at all), send
index 0 for every item, or change the id on the way. The index decides where it is usable, the id where it is not; from
the first event that breaks the rules on (``loose``) a known id goes before the index.
"""

from __future__ import annotations

from translators.events import Json

ADDED = "response.output_item.added"
DONE = "response.output_item.done"

_LIMIT = 1 << 31


def index_of(value: object) -> int | None:
    """The value as an index, None when it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LIMIT else None


class Places:
    """The items of one upstream response, by index and by id."""

    def __init__(self) -> None:
        self.loose = False
        self._owners: dict[int, str | None] = {}
        self._by_id: dict[str, int] = {}
        self._done: set[int] = set()

    def find(self, body: Json) -> int:
        """The index for an event about an item that is already there."""
        given, known = index_of(body.get("output_index")), self._known(body.get("item_id"))
        if given is None or (self.loose and known is not None):
            return known if known is not None else max(self._owners, default=0)
        return given

    def place(self, body: Json, *, done: bool) -> int:
        """The index for an ``output_item.added`` or, with ``done``, an ``output_item.done`` event."""
        item = body.get("item")
        item_id = item.get("id") if isinstance(item, dict) else body.get("item_id")
        item_id = item_id if isinstance(item_id, str) and item_id else None
        given = index_of(body.get("output_index"))
        self.loose = self.loose or given is None
        index = self._finishing(given, item_id) if done else self._beginning(given, item_id)
        if index is None:
            self.loose = self.loose or given is not None
            index = max(self._owners, default=-1) + 1
        if index not in self._owners:
            self._owners[index] = item_id
            if item_id is not None:
                self._by_id[item_id] = index
        if done:
            self._done.add(index)
        return index

    def _beginning(self, given: int | None, item_id: str | None) -> int | None:
        """None: it needs a new index."""
        if given is None:
            known = self._known(item_id)
            return known if known not in self._done else None
        if given not in self._owners:
            return given
        owner = self._owners[given]
        if item_id is None or owner is None:
            return None if given in self._done else given
        return given if owner == item_id else None

    def _finishing(self, given: int | None, item_id: str | None) -> int | None:
        known = self._known(item_id)
        if known is not None and (given is None or self.loose or given not in self._owners):
            return known
        if given is None:
            newest = max(self._owners.keys() - self._done, default=None)
            return newest if newest is not None and (item_id is None or self._owners[newest] is None) else None
        if given not in self._owners:
            return given
        owner = self._owners[given]
        if item_id is None or owner in (None, item_id):
            return given
        if known is not None:
            return known
        return None if given in self._done else given

    def _known(self, item_id: object) -> int | None:
        return self._by_id.get(item_id) if isinstance(item_id, str) else None
