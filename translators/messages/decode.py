"""Decoder of a Messages stream: complete SSE frames in, hub events out.

Each content block becomes one hub item: text a message, thinking a reasoning item, ``tool_use`` a function call. What
the assembler can add by itself (parts, the done events of parts, final items) is not written. A thinking block travels
as a whole, signature included, in the ``encrypted_content`` of its item: it must come back unchanged.

Shapes: Anthropic's stream types; events and blocks of kinds that are not known are passed over, as its documentation
asks.
"""

from __future__ import annotations

from typing import Any, Literal

import orjson

from translators import surrogates
from translators.chat.emit import Emitter
from translators.chat.faults import inner_error, not_json, refuse_bare_error
from translators.chat.finish import no_call
from translators.close import STOPPED, Close, stopped
from translators.events import Json, StreamEvent
from translators.failure import Failure
from translators.messages.usage import to_hub as usage_to_hub
from translators.sse import DONE, frames
from translators.surrogates import SurrogateJoiner, clean
from translators.upstream_errors import from_error_object

__all__ = ["MessagesDecoder"]

TEXT = "response.output_text.delta"
THOUGHT = "response.reasoning_summary_text.delta"
ARGUMENTS = "response.function_call_arguments.delta"
INCOMPLETE: dict[str, str] = {
    "max_tokens": "max_output_tokens",
    "model_context_window_exceeded": "max_output_tokens",
    "refusal": "content_filter",
}
"""stop_reason -> why the response is incomplete; every other one is a normal end."""
CALLING = "tool_use"
"""The stop_reason of a message that calls tools."""
FIELDS: dict[str, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "tool_use"),
    "signature_delta": ("signature", "thinking"),
}
"""Delta type -> its field, and the kind of block it belongs to."""
UNANNOUNCED = ("text_delta", "thinking_delta")
"""Deltas that are read where no block began: hosts that copy this format leave the frames around them out."""


class _Block:
    """The block that is open, with the hub item that it became (index -1: none yet, or none at all)."""

    def __init__(self, kind: str, given: Json) -> None:
        self.kind = kind
        self.given = given
        self.index = -1
        self.id = ""
        self.texts: list[str] = []
        self.signature: list[str] = []
        self.size = 0
        self.joiner = SurrogateJoiner(in_json=kind == "tool_use")


class MessagesDecoder:
    """Decodes one upstream response; parameters as for every decoder, ``relayed`` as for Chat's. ``closed`` is set by
    ``message_stop``, or by a clean EOF behind a stop_reason."""

    def __init__(self, *, suffix: str, first_index: int = 0, max_arguments: int, relayed: bool = False) -> None:
        self.closed: Close | None = None
        self._relayed = relayed
        self._emit = Emitter(suffix, first_index)
        self._max = max_arguments
        self._blocks: dict[int, _Block] = {}
        self._usage: Json = {}
        self._stop: str | None = None
        self._sequence: object = None

    @property
    def awaiting_close(self) -> bool:
        """Whether the stop_reason is known and only ``message_stop`` is missing."""
        return self._stop is not None and self.closed is None

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Decode complete frames. Raises Failure: ``upstream_invalid_response``, ``upstream_too_large``, or what an
        error event says."""
        for name, data in frames(block):
            if self.closed is not None:
                break
            if data.strip() == DONE:
                continue
            ragged = False
            try:
                body = orjson.loads(data)
            except orjson.JSONDecodeError:
                ragged = True
                try:
                    body = surrogates.loads(data)
                except ValueError:
                    raise not_json(data) from None
            if not isinstance(body, dict):
                raise Failure("upstream_invalid_response", "The upstream sent JSON that is no event of a message.")
            if name == b"error":  # llama.cpp sends the error without its wrapper
                raise from_error_object(inner_error(body))
            self._event(str(body.get("type") or name.decode("ascii", "replace")), body, ragged)
        return self._emit.take()

    def finish(self) -> list[StreamEvent]:
        """The connection ended cleanly, or nobody waits any longer. ``closed`` stays None without a stop_reason."""
        if self.awaiting_close:
            self._close()
        return self._emit.take()

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """Decode a ``message`` object, the answer of an upstream that ignored ``stream: true``. Raises as ``feed``."""
        try:
            message = surrogates.loads(body)
        except ValueError:
            raise not_json(body) from None
        if isinstance(message, dict) and (message.get("type") == "error" or message.get("error")):
            raise from_error_object(inner_error(message))
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            if isinstance(message, dict):
                refuse_bare_error(message)
            raise Failure("upstream_invalid_response", "The upstream answered with JSON that is no message.")
        for index, block in enumerate(content):
            self._start(index, block, ragged=True)
            self._stop_block(index)
        self._note_usage(message.get("usage"))
        self._stop = str(message.get("stop_reason") or "end_turn")
        self._sequence = message.get(STOPPED)
        self._close()
        return self._emit.take()

    def _event(self, kind: str, body: Json, ragged: bool) -> None:
        match kind:
            case "content_block_delta":
                self._delta(index_of(body), body.get("delta"), ragged)
            case "content_block_start":
                self._start(index_of(body), body.get("content_block"), ragged)
            case "content_block_stop":
                self._stop_block(index_of(body))
            case "message_start":
                message = body.get("message")
                self._note_usage(message.get("usage") if isinstance(message, dict) else None)
            case "message_delta":
                self._note_usage(body.get("usage"))
                delta = body.get("delta")
                reason = delta.get("stop_reason") if isinstance(delta, dict) else None
                if isinstance(delta, dict) and isinstance(reason, str) and reason:
                    self._stop, self._sequence = reason, delta.get(STOPPED)
            case "message_stop":
                self._close()
            case "error":
                raise from_error_object(inner_error(body))
            case _ if "error" in body and not kind:
                raise from_error_object(inner_error(body))
            case "":
                refuse_bare_error(body)
            case _:
                pass

    def _start(self, index: int, given: Any, ragged: bool) -> None:
        if not isinstance(given, dict):
            return
        kind = given.get("type")
        block = self._blocks[index] = _Block(kind if isinstance(kind, str) else "", given)
        match block.kind:
            case "text":
                self._write(block, given.get("text"), ragged)
            case "thinking":
                self._write(block, given.get("thinking"), ragged)
                block.signature.append(_text(given.get("signature")))
            case "tool_use":
                self._open_call(block)
            case "redacted_thinking":
                block.index, block.id = self._emit.open({"type": "reasoning", "summary": []})
            case _:
                pass

    def _open_call(self, block: _Block) -> None:
        given = block.given
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise Failure("invalid_tool_arguments", "The model's answer holds a tool call without a name.")
        item: Json = {"type": "function_call", "status": "in_progress", "call_id": clean(_text(given.get("id")))}
        block.index, block.id = self._emit.open({**item, "name": clean(name), "arguments": ""})

    def _delta(self, index: int, delta: Any, ragged: bool) -> None:
        kind = delta.get("type") if isinstance(delta, dict) else None
        known = FIELDS.get(kind) if isinstance(kind, str) else None
        if known is None:
            return
        block = self._blocks.get(index)
        if kind in UNANNOUNCED and (block is None or (block.kind != known[1] and not block.given)):
            self._stop_block(index)
            block = self._blocks[index] = _Block(known[1], {})
        if block is None or block.kind != known[1]:
            return
        text = _text(delta.get(known[0]))
        if kind == "signature_delta":
            block.signature.append(text)
        else:
            self._write(block, text, ragged)

    def _write(self, block: _Block, text: Any, ragged: bool) -> None:
        """Text of the open block; the item of a text or of a thought begins with its first character."""
        if not isinstance(text, str) or not text:
            return
        if ragged or block.joiner:
            text = block.joiner.feed(text)
        if block.kind == "tool_use":
            block.size += len(text)
            if block.size > self._max:
                limit = f"{self._max:,} characters"
                raise Failure("upstream_too_large", f"A tool call's arguments exceed the limit of {limit}.")
            self._emit.delta(ARGUMENTS, block.id, block.index, None, text)
            return
        if block.index < 0:
            item: Json = {"type": "reasoning", "summary": []}
            if block.kind == "text":
                item = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
            block.index, block.id = self._emit.open(item)
        if block.kind == "thinking":
            block.texts.append(text)
        self._emit.delta(TEXT if block.kind == "text" else THOUGHT, block.id, block.index, 0, text)

    def _stop_block(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        rest = block.joiner.finish()
        if rest:
            self._write(block, rest, ragged=False)
        if block.kind == "tool_use" and not block.size and block.given.get("input"):
            self._write(block, surrogates.dumps(block.given["input"]).decode(), ragged=False)
        if block.kind in ("thinking", "redacted_thinking"):
            self._end_thought(block)
        elif block.index >= 0:
            self._emit.done(block.index)

    def _end_thought(self, block: _Block) -> None:
        signature = "".join(block.signature)
        if block.index < 0 and not signature:
            return
        if block.index < 0:
            block.index, block.id = self._emit.open({"type": "reasoning", "summary": []})
        whole: Json = {"type": "redacted_thinking", "data": block.given.get("data")}
        if block.kind == "thinking":
            whole = {"type": "thinking", "thinking": "".join(block.texts), "signature": signature}
        item: Json = {"id": block.id, "type": "reasoning"}
        if block.kind != "thinking" or signature:  # an unsigned thought would be refused on its way back
            item["encrypted_content"] = orjson.dumps(surrogates.clean_tree(whole)).decode()
        self._emit.done(block.index, item)

    def _close(self) -> None:
        if self._stop is None:
            if not self._emit.started:
                raise Failure("upstream_empty", "The upstream ended its message without an answer.")
            self._stop = "end_turn"
        if self._stop == CALLING and not self._emit.started and not self._relayed:
            raise no_call()
        reason = INCOMPLETE.get(self._stop)
        if reason is None:
            for index in sorted(self._blocks):
                self._stop_block(index)
        status: Literal["completed", "incomplete"] = "incomplete" if reason else "completed"
        self.closed = Close(status, reason, stopped(self._sequence), usage_to_hub(self._usage))

    def _note_usage(self, usage: Any) -> None:
        """Counts are cumulative; a later event may leave out what an earlier one said."""
        if isinstance(usage, dict):
            self._usage.update({name: value for name, value in usage.items() if value is not None})


def index_of(body: Json) -> int:
    index = body.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
