"""Messages to Messages: the request nearly as it came, and a decoder that leaves the events as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from translators import surrogates
from translators.close import Close
from translators.envelope import is_ours
from translators.events import Event, Json, Note, StreamEvent
from translators.messages.answer import message_id
from translators.messages.as_stream import as_stream
from translators.messages.blocks import frame as event_frame
from translators.messages.decode import INCOMPLETE, MessagesDecoder, index_of
from translators.messages.gathered import Gathered
from translators.messages.hub_items import BILLING
from translators.messages.hub_parts import kind_of
from translators.messages.parts import says
from translators.messages.usage import to_hub
from translators.relay import HEAD, RAW, WHOLE, Renaming, completes, held, of_calls, passed
from translators.relay_decoder import RelayDecoder
from translators.sse import frames
from translators.template import Template
from translators.values import values

__all__ = ["MessagesRelay", "build"]

_DELTA = rb'event: content_block_delta\ndata: \{"type": ?"content_block_delta", ?"index": ?\d+, ?"delta": ?\{"type": ?'
_PLAIN = re.compile(rb"(?:" + _DELTA + rb'"(?:text|thinking|signature|citations)_delta",[^\n]*\n\n)+')
"""Deltas of content in the usual form; the decoder needs to see none of them."""
_DATA = re.compile(rb"\ndata: ([^\n]*)")
_TEXT = re.compile(rb'"(?:text|thinking)": ?(?=")')
_WORDS = frozenset({"text", "thinking", "redacted_thinking"})
NO_TEXT: Json = {"type": "text", "text": "(no text)"}
CONTENT = frozenset({"text_delta", "thinking_delta", "signature_delta", "citations_delta"})


def build(original: Json, model: str, reseal: Callable[[str], Json | None], notes: list[Note]) -> Json | None:
    """The body that goes up, ``messages`` last. Thinking that another upstream's answer brought through this proxy
    carries our seal: ``reseal`` gives the block that this upstream signed, or None, and then it is left out. So are
    texts without a word, which some clients keep in their history and this API refuses for ever. Claude Code's numbers
    for Anthropic's accounting are for Claude alone: they change with each request, and nothing behind them would ever
    be found in the cache of another model (anthropics/claude-code#68900)."""
    body = {**original, "model": model}
    if body.pop("thread", None) is not None:
        notes.append(Note("thread_left_out", "thread"))  # its answer could not be continued: validate() in to_hub.py
    system = body.get("system")
    if isinstance(system, list) and "claude" not in model.lower() and any(map(_accounts, system)):
        body["system"] = [block for block in system if not _accounts(block)]
        notes.append(Note("billing_header_left_out", "system"))
    messages = [_taken(message, reseal, notes, f"messages[{at}]") for at, message in enumerate(body.pop("messages"))]
    for at, message in enumerate(messages[:-1]):
        if not message.get("content"):
            message["content"] = [NO_TEXT]
            notes.append(Note("empty_text_replaced", f"messages[{at}].content"))
    body["messages"] = messages
    return body


def _taken(message: Json, reseal: Callable[[str], Json | None], notes: list[Note], path: str) -> Json:
    content = message.get("content")
    if not content:
        return {**message}  # only the last message may be empty
    if not isinstance(content, list) or not any(_sealed(block) or _empty(block) or _odd(block) for block in content):
        return message
    blocks: list[Any] = []
    for index, block in enumerate(content):
        seal, place = _sealed(block), f"{path}.content[{index}]"
        own = reseal(seal) if seal else {**block, "input": {}} if _odd(block) else block
        if own is None:
            notes.append(Note("reasoning_left_out", place))
        elif _empty(own):
            notes.append(Note("empty_text_left_out", place))
        else:
            blocks.append(own)
        if _odd(block):
            notes.append(Note("tool_arguments_replaced", f"{place}.input"))
    return {**message, "content": blocks or [NO_TEXT]}


def _accounts(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) else None
    return isinstance(text, str) and text.startswith(BILLING)


def _empty(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return isinstance(text, str) and not says(text)


def _odd(block: Any) -> bool:
    """A call whose input is no object, which a model of another host wrote: it is refused for ever ("Input should be a
    valid dictionary"), or breaks the server (zai-org/zai-coding-plugins#14)."""
    return isinstance(block, dict) and block.get("type") == "tool_use" and not isinstance(block.get("input"), dict)


def _sealed(block: Any) -> str:
    seal = (block.get("signature") or block.get("data")) if isinstance(block, dict) else None
    return seal if isinstance(seal, str) and is_ours(seal) else ""


class MessagesRelay(RelayDecoder):
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
        super().__init__(
            MessagesDecoder(suffix=suffix, first_index=first_index, max_arguments=max_arguments, relayed=True),
            renaming,
            Template(_TEXT, _text),
            "The upstream ended its message without a stop_reason.",
            streams=request.get("stream") is True,
        )
        self._tools: set[int] = set()
        self._message = Gathered(message_id(suffix), request.get("model"))
        self._written = 0
        """Output tokens that were spoken of last."""

    def _plain(self, block: bytes, position: int) -> int:
        """Deltas of content in the usual form, each whole JSON."""
        match = _PLAIN.match(block, position)
        return match.end() if match is not None and values(_DATA.findall(match[0])) is not None else position

    def _said(self, body: bytes) -> Close | None:
        try:
            answer = orjson.loads(body)
            reason, usage = answer["stop_reason"], answer["usage"]
            words_alone = isinstance(answer["content"], list) and all(
                block["type"] in _WORDS for block in answer["content"]
            )
        except (orjson.JSONDecodeError, LookupError, TypeError):
            return None
        if not words_alone or not isinstance(reason, str) or not isinstance(usage, dict) or _is_error(answer):
            return None
        incomplete = INCOMPLETE.get(reason)
        return Close("incomplete" if incomplete else "completed", incomplete, None, to_hub(usage))

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """As everywhere; for a client that takes a stream the message becomes the one that it asked for."""
        message = _parsed(body) if self._streams else None
        if message is None or not isinstance(message.get("content"), list) or _is_error(message):
            return super().decode_whole(body)
        return self.feed(as_stream(message))

    def _gathered(self, events: list[StreamEvent], block: bytes) -> list[StreamEvent]:
        for name, data in frames(block):
            body = _parsed(data)
            if body is not None:
                self._message.add(str(body.get("type") or name.decode("ascii", "replace")), body)
        if self._inner.closed is not None and self._close is None:
            whole = orjson.dumps(surrogates.clean_tree(self._message.message))
            self._close = replace(self._inner.closed, response={WHOLE: self._rename.whole(whole)})
        # Nobody is shown the frames, but what is kept of them counts for the limit.
        return [*([passed(block)] if block else []), *of_calls(events, self._calls)]

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
        if kind == "message_stop" and self._begun and not self._inner.awaiting_close:
            self._unsaid_reason(out)
        out += self._of_calls(frame)
        if kind not in ("ping", "message_stop", ""):
            out.append(self._passed(frame))

    def _unsaid_reason(self, out: list[StreamEvent]) -> None:
        """The upstream stops without a stop_reason: it is said here, for clients do not take a message without."""
        delta = {"stop_reason": "tool_use" if self._tools else "end_turn", "stop_sequence": None}
        body: Json = {"delta": delta, "usage": {"output_tokens": self._written}}
        self._message_delta(event_frame("message_delta", body), body, out)

    def _head(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        self._inner.feed(frame)
        self._count(body.get("message"))
        out.append(Event(HEAD, {"raw": self._rename(frame, 1)}))

    def _start(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        events = self._of_calls(frame)
        self._begun = True
        block = body.get("content_block")
        kind = kind_of(block)
        if kind == "tool_use":
            self._tools.add(index_of(body))
        if self._holding:
            out.append(held(frame))
        else:
            out.append(Event(RAW, {"raw": frame, "open": (index_of(body), kind)}))
        out += events

    def _delta(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        delta = body.get("delta")
        events: list[StreamEvent] = []
        if isinstance(delta, dict) and kind_of(delta) not in CONTENT:
            events = self._of_calls(frame)
            self._holding = self._holding or completes(events, self._gates)
        self._begun = True
        out.append(self._passed(frame))
        out += events

    def _stop(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        out += self._of_calls(frame)
        self._holding = self._holding or index_of(body) in self._tools
        out.append(held(frame) if self._holding else Event(RAW, {"raw": frame, "open": None}))

    def _message_delta(self, frame: bytes, body: Json, out: list[StreamEvent]) -> None:
        out += self._of_calls(frame)
        self._count(body)
        self._holding = self._holding or self._inner.awaiting_close
        out.append(self._passed(frame))

    def _count(self, holder: Any) -> None:
        usage = holder.get("usage") if isinstance(holder, dict) else None
        written = usage.get("output_tokens") if isinstance(usage, dict) else None
        self._written = written if isinstance(written, int) else self._written


_KINDS: dict[str, Callable[[MessagesRelay, bytes, Json, list[StreamEvent]], None]] = {
    "message_start": MessagesRelay._head,
    "content_block_start": MessagesRelay._start,
    "content_block_delta": MessagesRelay._delta,
    "content_block_stop": MessagesRelay._stop,
    "message_delta": MessagesRelay._message_delta,
}


def _is_error(answer: Json) -> bool:
    return bool(answer.get("error")) or answer.get("type") == "error"


def _text(event: Json) -> Any:
    """The text of a delta that says one."""
    delta = event["delta"]
    return delta.get("text") or delta.get("thinking")


def _parsed(data: bytes) -> Json | None:
    """The event, or None: then the decoder says what is wrong with it."""
    try:
        body = surrogates.loads(data)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
