"""Chat to Chat: the request nearly as it came, and a decoder that leaves the chunks as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from translators import surrogates
from translators.chat.decode import ChatDecoder
from translators.close import Close
from translators.events import Event, Json, StreamEvent
from translators.failure import Failure
from translators.holding import Gate
from translators.relay import HEAD, WHOLE, Renaming, completes, held, of_calls, passed
from translators.sse import DONE, frames

__all__ = ["ChatRelay", "build"]

_SIGNS = (b'"finish_reason":"', b'"finish_reason": "', b'"tool_calls"', b'"function_call"', b'"error"', b"[DONE]")
_USAGE = re.compile(rb'"usage": ?[^n ]')
"""What chunks of plain content do not hold."""
_UNKNOWN_ELSEWHERE = frozenset({"developer"})


def build(original: Json, model: str, reseal: Callable[[str], Json | None]) -> Json | None:
    """The body that goes up, ``messages`` last; None for what most upstreams do not know: custom tools, and the role
    that only OpenAI has."""
    tools = original.get("tools") or ()
    messages = original["messages"]
    if any(tool.get("type", "function") != "function" for tool in tools):
        return None
    if any(message.get("role") in _UNKNOWN_ELSEWHERE for message in messages):
        return None
    body = {**original, "model": model}
    if body.get("stream") is True:
        options = body.get("stream_options")
        body["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    body["messages"] = body.pop("messages")
    return body


class ChatRelay:
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
        self._inner = ChatDecoder(suffix=suffix, first_index=first_index, max_arguments=max_arguments)
        self._rename = renaming
        self._wants_usage = (request.get("stream_options") or {}).get("include_usage") is True
        self._close: Close | None = None
        self._begun = False
        self._holding = False
        self._gates: dict[int, Gate] = {}
        self._calls: set[int] = set()

    @property
    def closed(self) -> Close | None:
        """How the upstream response ended, once it did."""
        return self._close or self._inner.closed

    @property
    def awaiting_close(self) -> bool:
        return self._inner.awaiting_close

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Sort complete frames. Raises Failure as ``ChatDecoder.feed`` does."""
        if self._begun and not self._holding and _plain(block):
            return [passed(self._rename(block))]
        out: list[StreamEvent] = []
        for frame in block.split(b"\n\n"):
            if frame and self.closed is None:
                self._frame(frame + b"\n\n", out)
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
        data = next((data for _, data in frames(frame)), b"")
        if data.strip() == DONE:
            out += of_calls(self._fed(frame), self._calls)
            return
        chunk = _parsed(data)
        choice = _choice(chunk)
        if choice is None or _says_more(chunk, choice):
            self._special(frame, chunk, choice, out)
        elif not self._begun and _only_head(choice):
            out.append(Event(HEAD, {"raw": self._rename(frame)}))
        else:
            self._begun = True
            out.append(self._passed(frame))

    def _special(self, frame: bytes, chunk: Any, choice: Json | None, out: list[StreamEvent]) -> None:
        """A frame that the decoder has to see: calls, the end, usage, errors, and what is no chunk at all."""
        events = of_calls(self._fed(frame), self._calls)
        if choice is None and not chunk:
            out += events
            return
        self._holding = self._holding or completes(events, self._gates)
        ends = choice is not None and bool(choice.get("finish_reason"))
        self._holding = self._holding or ends
        self._begun = True
        if choice is not None or self._wants_usage:
            out.append(self._passed(frame))
        out += events

    def _fed(self, frame: bytes) -> list[StreamEvent]:
        try:
            return self._inner.feed(frame)
        except Failure as failure:
            if failure.code == "upstream_empty" and self._begun:
                text = "The upstream ended its stream without a finish_reason."
                raise Failure("upstream_closed", text) from None
            raise

    def _passed(self, frame: bytes) -> StreamEvent:
        raw = self._rename(frame)
        return held(raw) if self._holding else passed(raw)


def _plain(block: bytes) -> bool:
    """Whether these are chunks of content, each one line of whole JSON: one parse for all of them."""
    for sign in _SIGNS:
        if sign in block:
            return False
    if not block.startswith(b"data: {") or (b'"usage"' in block and _USAGE.search(block)):
        return False
    try:
        orjson.loads(b"[" + block[6:-2].replace(b"\n\ndata: ", b",") + b"]")
    except orjson.JSONDecodeError:
        return False
    return True


def _parsed(data: bytes) -> Any:
    """The chunk, or None: then the decoder says what is wrong with it."""
    try:
        return surrogates.loads(data)
    except ValueError:
        return None


def _choice(chunk: Any) -> Json | None:
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _says_more(chunk: Json, choice: Json) -> bool:
    delta = choice.get("delta")
    more = ("tool_calls", "function_call")
    return (
        bool(choice.get("finish_reason") or choice.get("usage") or chunk.get("usage") or chunk.get("error"))
        or not isinstance(delta, dict)
        or any(delta.get(name) for name in more)
    )


def _only_head(choice: Json) -> bool:
    """The chunk that names the role and says nothing yet."""
    delta: Json = choice["delta"]
    return not any(value for name, value in delta.items() if name != "role")
