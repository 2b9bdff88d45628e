"""Messages to Messages: the request nearly as it came, and a decoder that leaves the events as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from translators.close import Close
from translators.envelope import is_ours
from translators.events import Event, Json, StreamEvent
from translators.failure import Failure
from translators.holding import Gate
from translators.messages.decode import MessagesDecoder
from translators.relay import HEAD, RAW, WHOLE, Renaming, completes, held, of_calls, passed
from translators.sse import frames

__all__ = ["MessagesRelay", "build"]

_DELTA = rb'event: content_block_delta\ndata: \{"type": ?"content_block_delta", ?"index": ?\d+, ?"delta": ?\{"type": ?'
_PLAIN = re.compile(rb"(?:" + _DELTA + rb'"(?:text|thinking|signature|citations)_delta",[^\n]*\n\n)+')
"""Deltas of content in the usual form; the decoder needs to see none of them."""
_DATA = re.compile(rb"\ndata: ([^\n]*)")
CONTENT = frozenset({"text_delta", "thinking_delta", "signature_delta", "citations_delta"})


def build(original: Json, model: str, reseal: Callable[[str], Json | None]) -> Json | None:
    """The body that goes up, ``messages`` last. Thinking that another upstream's answer brought through this proxy
    carries our seal: ``reseal`` gives the block that this upstream signed, or None, and then it is left out. So are
    empty texts, which some clients send and this API refuses."""
    body = {**original, "model": model}
    body["messages"] = [_taken(message, reseal) for message in body.pop("messages")]
    return body


def _taken(message: Json, reseal: Callable[[str], Json | None]) -> Json:
    content = message.get("content")
    if not isinstance(content, list) or not any(_sealed(block) or _empty(block) for block in content):
        return message
    blocks: list[Any] = []
    for block in content:
        seal = _sealed(block)
        own = reseal(seal) if seal else block
        blocks += [own] if own is not None and not _empty(own) else []
    return {**message, "content": blocks or [{"type": "text", "text": "(no text)"}]}


def _empty(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and block.get("text") == ""


def _sealed(block: Any) -> str:
    seal = (block.get("signature") or block.get("data")) if isinstance(block, dict) else None
    return seal if isinstance(seal, str) and is_ours(seal) else ""


class MessagesRelay:
    """Decodes one upstream response of a same-format route. ``renaming`` puts the client's name of the model in."""

    def __init__(
        self,
        *,
        suffix: str,
        first_index: int = 0,
        max_arguments: int,
        renaming: Renaming,
        request: Json,
    ) -> None:
        self._inner = MessagesDecoder(suffix=suffix, first_index=first_index, max_arguments=max_arguments)
        self._rename = renaming
        self._close: Close | None = None
        self._begun = False
        self._holding = False
        self._gates: dict[int, Gate] = {}
        self._calls: set[int] = set()
        self._tools: set[int] = set()

    @property
    def closed(self) -> Close | None:
        """How the upstream response ended, once it did."""
        return self._close or self._inner.closed

    @property
    def awaiting_close(self) -> bool:
        return self._inner.awaiting_close

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Sort complete frames. Raises Failure as ``MessagesDecoder.feed`` does."""
        out: list[StreamEvent] = []
        position, size = 0, len(block)
        while position < size and self.closed is None:
            match = _PLAIN.match(block, position)
            if match is not None and _whole_json(match[0]):
                self._begun = True
                out.append(self._passed(match[0]))
                position = match.end()
                continue
            end = block.index(b"\n\n", position) + 2
            self._frame(block[position:end], out)
            position = end
        return out

    def finish(self) -> list[StreamEvent]:
        """The connection ended cleanly."""
        return of_calls(self._inner.finish(), self._calls)

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """A complete answer: judged as on every route, and kept as it came."""
        events = self._inner.decode_whole(body)
        close = self._inner.closed
        if close is not None:
            self._close = replace(close, response={WHOLE: self._rename.whole(body)})
        return events

    def _frame(self, frame: bytes, out: list[StreamEvent]) -> None:
        name, data = next(frames(frame), (b"", b""))
        if not data:
            return
        body = _parsed(data)
        kind = str(body.get("type") or name.decode("ascii", "replace")) if body is not None else ""
        if body is None or kind not in _KINDS:
            self._other(frame, kind, out)
            return
        _KINDS[kind](self, frame, body, out)

    def _other(self, frame: bytes, kind: str, out: list[StreamEvent]) -> None:
        """An error, the end, something broken, or a kind that is not known and passes. The end and pings are our own:
        both have to be counted."""
        out += of_calls(self._fed(frame), self._calls)
        if kind not in ("ping", "message_stop", ""):
            out.append(self._passed(frame))

    def _head(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        self._inner.feed(frame)
        out.append(Event(HEAD, {"raw": self._rename(frame, 1)}))

    def _start(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        events = of_calls(self._fed(frame), self._calls)
        self._begun = True
        block = body.get("content_block")
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            self._tools.add(body.get("index", 0))
        if self._holding:
            out.append(held(frame))
        else:
            out.append(Event(RAW, {"raw": frame, "open": (body.get("index", 0), kind)}))
        out += events

    def _delta(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        delta = body.get("delta")
        events: list[StreamEvent] = []
        if isinstance(delta, dict) and delta.get("type") not in CONTENT:
            events = of_calls(self._fed(frame), self._calls)
            self._holding = self._holding or completes(events, self._gates)
        self._begun = True
        out.append(self._passed(frame))
        out += events

    def _stop(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        out += of_calls(self._fed(frame), self._calls)
        self._holding = self._holding or body.get("index", 0) in self._tools
        out.append(held(frame) if self._holding else Event(RAW, {"raw": frame, "open": None}))

    def _message_delta(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        out += of_calls(self._fed(frame), self._calls)
        self._holding = self._holding or self._inner.awaiting_close
        out.append(self._passed(frame))

    def _fed(self, frame: bytes) -> list[StreamEvent]:
        try:
            return self._inner.feed(frame)
        except Failure as failure:
            if failure.code == "upstream_empty" and self._begun:
                raise Failure("upstream_closed", "The upstream ended its message without a stop_reason.") from None
            raise

    def _passed(self, frame: bytes) -> StreamEvent:
        return held(frame) if self._holding else passed(frame)


_KINDS: dict[str, Callable[[MessagesRelay, bytes, Json, list[StreamEvent]], None]] = {
    "message_start": MessagesRelay._head,
    "content_block_start": MessagesRelay._start,
    "content_block_delta": MessagesRelay._delta,
    "content_block_stop": MessagesRelay._stop,
    "message_delta": MessagesRelay._message_delta,
}


def _whole_json(run: bytes) -> bool:
    try:
        orjson.loads(b"[" + b",".join(_DATA.findall(run)) + b"]")
    except orjson.JSONDecodeError:
        return False
    return True


def _parsed(data: bytes) -> Json | None:
    """The event, or None: then the decoder says what is wrong with it."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None
