"""Traces: calls in an upstream's answer that it has run itself, and that no client may take for its own.

xAI shows what its search on X does as custom tool calls (public reports). A decoder around the upstream's decoder takes
them out and moves what follows into their places.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from translators.events import Deltas, Event, Run, StreamEvent
from translators.openitem import split_run
from translators.registry import Decoder
from translators.wrapper import DecoderWrapper

__all__ = ["Untraced"]

ITEMS: Final = ("response.output_item.added", "response.output_item.done")
CALLS: Final = frozenset({"custom_tool_call", "function_call"})


class Untraced(DecoderWrapper):
    """Wraps the decoder of one attempt. ``names`` are those of the traces; no tool of the client has one of them."""

    def __init__(self, inner: Decoder, names: frozenset[str]) -> None:
        super().__init__(inner)
        self._names = names
        self._left_out: set[int] = set()
        self._places: dict[int, int] = {}
        self._ended = False

    def _through(self, events: list[StreamEvent]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for event in events:
            if not isinstance(event, Run):
                out += self._moved(event)
            elif self._left_out:
                for deltas in split_run(event):
                    out += self._moved(deltas)
            else:
                out.append(event)
        close = self.closed
        if close is not None and not self._ended:
            self._ended = True
            response = close.response or {}
            if isinstance(response.get("output"), list):
                response["output"] = [item for item in response["output"] if not self._is_trace(item)]
        return out

    def _moved(self, event: Event | Deltas) -> list[StreamEvent]:
        index = event.output_index if isinstance(event, Deltas) else event.body.get("output_index")
        if not isinstance(index, int):
            return [event]
        if isinstance(event, Event) and event.kind in ITEMS and self._is_trace(event.body.get("item")):
            self._left_out.add(index)
        if index in self._left_out:
            return []
        place = self._places.get(index)
        if place is None:
            place = self._places[index] = index - sum(each < index for each in self._left_out)
        if place == index:
            return [event]
        if isinstance(event, Deltas):
            return [replace(event, output_index=place)]
        return [Event(event.kind, {**event.body, "output_index": place})]

    def _is_trace(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("type") in CALLS and item.get("name") in self._names
