"""OwnRound: the calls of one inference round behind which the proxy goes on, among the round's other items: those that
it runs itself, and those that the client answers in any later turn.

The order is that of the items. The first run of own calls is opened before it is executed, unless a custom call of the
client's comes first; a later one opens when it ends, for what stands before it may still wait.
"""

from __future__ import annotations

from translators.events import Json, StreamEvent
from translators.gateway.calls import OwnCall
from translators.gateway.own import Ran
from translators.gateway.search import Sources
from translators.openitem import OpenItem
from translators.order import Order

__all__ = ["OwnRound"]


class OwnRound:
    """``items`` are the finished items of the round in order, each with its output index."""

    def __init__(self, items: list[tuple[int, OpenItem]], order: Order, sources: Sources) -> None:
        self._items = items
        self._order = order
        self._sources = sources
        self.calls = [item for _, item in items if isinstance(item, OwnCall)]

    @property
    def mixed(self) -> bool:
        """Whether calls of the client's stand there that it has to answer first."""
        others = (item for _, item in self._items if item.holds and not isinstance(item, OwnCall))
        return any(item.refused is None and not item.later for item in others)

    @property
    def later(self) -> bool:
        """Whether the model stopped at an asynchronous call of the client's. It may say more behind one by itself."""
        return bool(self._items) and self._items[-1][1].later

    @property
    def asks(self) -> bool:
        """Whether calls wait for the user's word."""
        return any(call.asked for call in self.calls)

    def start(self) -> list[StreamEvent]:
        """Open the first run of own calls."""
        out: list[StreamEvent] = []
        before: int | None = None
        for index, item in self._items:
            if isinstance(item, OwnCall):
                if before is None and not self._order.is_first(index):
                    break
                out += item.start()
                before = index
            elif before is not None or item.item.get("type") == "custom_tool_call":
                break
        return out

    def end(self, call: OwnCall, ran: Ran) -> list[StreamEvent]:
        """A call has ended; what waited behind it follows. Calls end in their order."""
        started = [] if call.started else call.start()
        return self._order.pass_on(call.index, [*started, *call.end(ran, self._sources)])

    def history(self) -> list[Json]:
        """The round as a later one reads it: its items, each own call in its function form, then the outputs."""
        items = [item for _, item in self._items if item.refused is None]
        calls = [item.pair[0] if isinstance(item, OwnCall) else item.item for item in items]
        return [*calls, *(output for call in self.calls for output in call.pair[1:])]

    def internal(self) -> dict[str, list[Json]]:
        """What a store keeps of it beside the public items: by the id of the item it stands behind. The outputs stand
        behind the round's last item."""
        kept: dict[str, list[Json]] = {}
        for call in self.calls:
            kept[call.id] = call.pair[:1]
        last = [item.id for _, item in self._items if item.refused is None][-1:]
        for identity in last:
            kept.setdefault(identity, []).extend(output for call in self.calls for output in call.pair[1:])
        return kept
