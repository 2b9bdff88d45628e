"""Hub events to the SSE bytes of a Messages client.

Blocks of this API stand one behind the other, hub items may overlap: what belongs to a later item waits until the one
before it has ended. The last fragment of a call's input and its ``content_block_stop`` leave only when the call was
released, so everything behind an open call waits for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from translators.close import STOPPED
from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.items import PublicResponse, is_commentary
from translators.lifecycle import Numbered
from translators.messages.answer import CALLS, asks_json, message_id, shows_thinking, stop_reason, usage_of
from translators.messages.blocks import (
    EMPTY,
    CallBlock,
    ItemBlocks,
    SearchBlocks,
    TextBlocks,
    ThinkingBlock,
    delta_of,
    frame,
)
from translators.messages.errors import stream_error
from translators.messages.search import Cited, is_search
from translators.messages.usage import from_hub as usage_from_hub
from translators.openitem import ANNOTATION, split_run
from translators.relay import HEAD, RAW

__all__ = ["MessagesEncoder"]

PING = b'event: ping\ndata: {"type":"ping"}\n\n'
NO_OP = frame("message_delta", {"delta": {"stop_reason": None, "stop_sequence": None}, "usage": {"output_tokens": 0}})
"""An event that Claude Code counts as progress and does not show (measured, 2.1.197): it does not count pings, and
gives up after 300 s."""
_ENDS = frozenset({"response.completed", "response.incomplete"})
_ALWAYS = frozenset({"keepalive", "response.failed"})
"""What is written where frames are relayed: the rest says the same as they do."""
END = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


class MessagesEncoder:
    """One stream. ``request`` is the client's own body."""

    def __init__(self, public: PublicResponse, request: Json) -> None:
        self._public = public
        self._thinking = shows_thinking(request)
        self._json = asks_json(request)
        self._next = 0
        self._cited = Cited()
        self._line: deque[tuple[int, ItemBlocks]] = deque()
        self._waiting: dict[int, list[StreamEvent]] = {}
        self._started: bytes | None = None
        self._relays = False
        self._open: tuple[int, str] | None = None

    def encode(self, events: Iterable[Numbered]) -> bytes:
        """The frames of these events, joined."""
        out: list[bytes] = []
        for _, event in events:
            if event.kind in (RAW, HEAD):
                self._relayed(event, out)
            elif self._relays and event.kind not in _ALWAYS:
                out += [END] if event.kind in _ENDS else []
            elif isinstance(event, Deltas):
                self._item_event(event.output_index, event, out)
            elif isinstance(event, Run):
                for deltas in split_run(event):
                    self._item_event(deltas.output_index, deltas, out)
            else:
                self._event(event, out)
        return b"".join(out)

    def end(self, kind: str) -> bytes:
        """What follows the terminal event ``kind``: nothing, ``message_stop`` went with it."""
        return b""

    def _event(self, event: Event, out: list[bytes]) -> None:
        match event.kind:
            case "response.created":
                self._started = self._start()
                out.append(self._started)
            case "keepalive":
                out += (PING, self._no_op())
            case "response.output_item.added":
                self._added(event.body)
            case "response.output_item.done" | "response.output_text.annotation.added":
                self._item_event(event.body["output_index"], event, out)
            case "response.completed" | "response.incomplete":
                self._finish(event.body["response"], out)
            case "response.failed":
                out.append(stream_error(event.body["response"].get("error") or {}))
            case _:
                pass

    def _relayed(self, event: StreamEvent, out: list[bytes]) -> None:
        """Frames as they came; the upstream's head stands for ours where both go out at once."""
        if event.kind == HEAD and self._started is not None:
            if not (len(out) == 1 and out[0] is self._started):
                return
            out.clear()
        self._relays = self._relays or event.kind == RAW
        if isinstance(event, Event):
            self._open = event.body.get("open", self._open)
            out.append(event.body["raw"])
        elif isinstance(event, Run):
            out.append(event.block)

    def _no_op(self) -> bytes:
        if self._relays:
            delta = EMPTY.get(self._open[1]) if self._open is not None else None
            return NO_OP if self._open is None or delta is None else delta_of(self._open[0], delta)
        return (self._line[0][1].no_op() if self._line else b"") or NO_OP

    def _start(self) -> bytes:
        message: Json = {
            "id": message_id(self._public.suffix),
            "type": "message",
            "role": "assistant",
            "model": self._public.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_from_hub(None),
        }
        return frame("message_start", {"message": message})

    def _added(self, body: Json) -> None:
        item, index = body["item"], body["output_index"]
        kind = item.get("type")
        blocks: ItemBlocks
        if self._json and is_commentary(item):
            return
        if kind == "message":
            blocks = TextBlocks()
        elif kind == "reasoning" and self._thinking:
            blocks = ThinkingBlock()
        elif kind in CALLS:
            blocks = CallBlock(item)
        elif is_search(item):
            blocks = SearchBlocks()
        else:
            return
        self._line.append((index, blocks))
        self._waiting[index] = []

    def _item_event(self, index: int, event: StreamEvent, out: list[bytes]) -> None:
        waiting = self._waiting.get(index)
        if waiting is None:
            return  # an item that this client is not shown
        waiting.append(event)
        while self._line and self._advance(self._line[0][0], out):
            pass

    def _advance(self, index: int, out: list[bytes]) -> bool:
        """Write what there is of the first item in line; whether it ended and the next one's turn has come."""
        blocks, waiting = self._line[0][1], self._waiting[index]
        for event in waiting:
            if isinstance(event, Deltas):
                self._next = blocks.deltas(event, self._next, out)
            elif isinstance(event, Event) and event.kind == ANNOTATION:
                self._cite(blocks, event.body, out)
            elif isinstance(event, Event):
                if is_search(event.body["item"]):
                    self._cited.remember(event.body["item"])
                if isinstance(blocks, TextBlocks):
                    part, rest = blocks.uncited(event.body["item"])
                    for annotation in rest:
                        blocks.cite(annotation, self._cited.citation(annotation), part, out)
                self._next = blocks.done(event.body["item"], self._next, out)
                self._line.popleft()
                del self._waiting[index]
                return True
        waiting.clear()
        return False

    def _cite(self, blocks: ItemBlocks, body: Json, out: list[bytes]) -> None:
        if isinstance(blocks, TextBlocks):
            annotation = body.get("annotation")
            blocks.cite(annotation, self._cited.citation(annotation), body.get("content_index", 0), out)

    def _finish(self, response: Json, out: list[bytes]) -> None:
        while self._line:  # an item that was cut off: its block ends where it stands
            self._next = self._line.popleft()[1].cut(self._next, out)
        delta = {"stop_reason": stop_reason(response), "stop_sequence": response.get(STOPPED)}
        out.append(frame("message_delta", {"delta": delta, "usage": usage_of(response)}))
        out.append(END)
