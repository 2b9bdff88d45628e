"""Decoder of a Chat Completions stream: complete SSE frames in, hub events out.

A Chat stream has no items: deltas of one choice, one ``finish_reason``, then usage and ``[DONE]``. Here they become the
items of the Responses API: runs of reasoning, text and calls, each with an output_index in order of appearance. What
the assembler can add by itself (parts, the done events of parts, final items) is not written.

Shapes: OpenAI's chunk type and, marked below, what other hosts are publicly known to send.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from translators import surrogates
from translators.chat import usage as chat_usage
from translators.chat.annotations import Annotations
from translators.chat.choices import as_one_choice
from translators.chat.emit import Emitter
from translators.chat.faults import inner_error, not_json, refuse_bare_error, sole_object
from translators.chat.finish import CALLING, INCOMPLETE_REASONS, no_call, no_room, refuse
from translators.chat.plain import plain_text
from translators.chat.said import Said
from translators.chat.toolcalls import LEGACY, ToolCalls
from translators.close import Close, stopped
from translators.events import Json, StreamEvent
from translators.failure import Failure
from translators.sse import DONE, frames
from translators.surrogates import SurrogateJoiner
from translators.upstream_errors import from_error_object

TEXT = "response.output_text.delta"
REFUSAL = "response.refusal.delta"
REASONING = "response.reasoning_summary_text.delta"
"""Reasoning that a host shows goes out as summary: clients display that (Codex hides raw reasoning text by default)."""

_NOTHING = object()


@dataclass(slots=True)
class _OpenText:
    """The message or reasoning item that is open: part indices by delta kind, and characters cut in half."""

    type: Literal["message", "reasoning"]
    index: int
    id: str
    parts: dict[str, int] = field(default_factory=dict)
    cited: int = 0
    joiners: dict[str, SurrogateJoiner] = field(default_factory=dict)


class ChatDecoder:
    """Decodes one upstream response.

    ``suffix`` makes item ids unique to the public response, ``first_index`` is the output_index of the first item
    (earlier rounds came before), ``max_arguments`` limits one call's arguments in characters; ``cumulative`` says that
    each delta of text may repeat all that came before it, ``silent_overflow`` that a prompt too long is no error there
    but an answer cut off before its first word, ``relayed`` that somebody else writes what is said and only calls are
    of interest. ``closed`` is set once the upstream response closed properly: a
    finish_reason, then ``[DONE]`` or a clean EOF.
    """

    def __init__(
        self,
        *,
        suffix: str,
        first_index: int = 0,
        max_arguments: int,
        cumulative: bool = False,
        silent_overflow: bool = False,
        relayed: bool = False,
    ) -> None:
        self.closed: Close | None = None
        self.details: list[Json] = []
        """Typed ``reasoning_details`` as they came: the host wants them back unchanged."""
        self._emit = Emitter(suffix, first_index)
        self._calls = ToolCalls(self._emit, self._close_text, max_arguments)
        self._text: _OpenText | None = None
        self._cited = Annotations()
        self._usage: Json | None = None
        self._said: dict[str, Said] | None = {} if cumulative else None
        self._silent_overflow = silent_overflow
        self._relayed = relayed
        self._calling = False
        self._field = "content"
        self._finished = False
        self._blank = False
        self._reason: str | None = None
        self._sequence: object = None

    @property
    def extras(self) -> dict[str, Json]:
        """By call id, what a host put beside a call and wants back with it (Gemini's ``extra_content``)."""
        return self._calls.extras

    @property
    def awaiting_close(self) -> bool:
        """True between the finish_reason and the close: usage and ``[DONE]`` may follow; some hosts send neither."""
        return self._finished and self.closed is None

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Decode a block of complete frames as ``SseDecoder.feed`` returns it.

        Raises Failure: ``upstream_invalid_response`` (not JSON, HTML, no chunk), ``upstream_too_large``,
        ``invalid_tool_arguments`` (a call without a name), or what an error object in the stream says.
        """
        texts: list[str] | None = None
        for frame in block.split(b"\n\n"):
            if not frame:
                continue
            ragged = False
            try:
                # Nearly every frame is exactly this; one with more lines is no JSON and takes the other way.
                chunk = orjson.loads(frame[6:]) if frame.startswith(b"data: ") else _NOTHING
            except orjson.JSONDecodeError:
                chunk = _NOTHING
            if chunk is _NOTHING:
                chunk, ragged = self._odd_frame(frame), True
                if chunk is _NOTHING:
                    continue
            if self.closed is not None:
                break
            text = plain_text(chunk, self._field) if texts is not None and not ragged else None
            if text and texts is not None:
                texts.append(text)
                continue
            self._chunk(chunk, ragged)
            texts = self._running_text()
        return self._emit.take()

    def finish(self) -> list[StreamEvent]:
        """The connection ended cleanly, or nobody waits any longer. ``closed`` stays None without a finish_reason."""
        if self._finished and self.closed is None:
            self._close()
        return self._emit.take()

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """Decode a ``chat.completion`` object, the answer of an upstream that ignored ``stream: true``.

        A whole object is a proper close even without a finish_reason. Raises Failure as ``feed`` does, and
        ``upstream_empty`` when it holds no answer.
        """
        ragged = False
        try:
            chunk = orjson.loads(body)
        except orjson.JSONDecodeError:
            ragged = True
            try:
                chunk = surrogates.loads(body)
            except ValueError:
                raise not_json(body) from None
        self._chunk(chunk if self._relayed else as_one_choice(chunk), ragged)
        if not self._finished and not self._emit.started:
            if "choices" not in chunk:
                text = "The upstream answered with JSON that is no chat completion."
                raise Failure("upstream_invalid_response", text)
            raise Failure("upstream_empty", "The upstream's answer holds no choice.")
        self._finished = True
        self._close()
        return self._emit.take()

    def _running_text(self) -> list[str] | None:
        """Where the next plain text may be appended at once: nothing waits to be written before it."""
        if self._text is None or self._text.joiners or self._calls.waiting or self._said is not None:
            return None
        return self._emit.run_of(TEXT if self._field == "content" else REASONING)

    def _odd_frame(self, frame: bytes) -> Any:
        """The chunk of a frame that is not one plain JSON data line, or ``_NOTHING``."""
        name, data = next(frames(frame), (b"", b""))
        bare = frame.strip()
        if not data and bare.startswith((b"{", b"<")):
            data = bare  # a host that forgot the framing for its error
        if not data.strip() or self.closed is not None:
            return _NOTHING
        if data.strip() == DONE:
            self._done_marker()
            return _NOTHING
        try:
            chunk = surrogates.loads(data)
        except ValueError:
            raise not_json(data) from None
        if name == b"error":
            raise from_error_object(inner_error(chunk))
        return chunk

    def _done_marker(self) -> None:
        if self._finished or (self._blank and self._emit.started):
            self._finished = True
            self._close()
        elif self._emit.started:
            raise Failure("upstream_closed", "The upstream ended its stream without a finish_reason.")
        else:
            raise Failure("upstream_empty", "The upstream ended its stream without an answer.")

    def _chunk(self, chunk: Any, ragged: bool) -> None:
        if type(chunk) is not dict:
            chunk = sole_object(chunk)
        if chunk.get("error"):
            raise from_error_object(inner_error(chunk))
        self._note_usage(chunk.get("usage"))
        if groq := chunk.get("x_groq"):
            self._groq(groq)
        choices = chunk.get("choices")
        if not choices:
            refuse_bare_error(chunk)
            return
        if not isinstance(choices, list):
            raise Failure("upstream_invalid_response", "The upstream sent a chunk whose choices are no list.")
        for choice in choices:
            if isinstance(choice, dict) and not choice.get("index"):
                self._choice(choice, ragged)
                return

    def _groq(self, own: Any) -> None:
        """What Groq puts beside the choices: why it stopped early, and the usage."""
        if isinstance(own, dict):
            if own.get("error"):
                raise from_error_object(inner_error(own))
            self._note_usage(own.get("usage"))

    def _choice(self, choice: Json, ragged: bool) -> None:
        self._note_usage(choice.get("usage"))  # Moonshot
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._emit.started:
            delta = choice.get("message")
        said = isinstance(delta, dict) and self._read(delta, ragged)
        reason = choice.get("finish_reason")
        if type(reason) in (str, int) and reason:  # Poolside: the number of the token that ended it
            self._finish_reason(str(reason).lower(), choice, said)
        elif reason == "" and self._emit.started:
            # xAI ends turns with calls so; the end marker has to follow. With a piece of text it says nothing: hosts
            # that send it with every chunk have been cut off there, and gateways add the marker all the same.
            self._blank = not said or self._text is None

    def _read(self, delta: Json, ragged: bool) -> bool:
        """Take one delta in the order reasoning, text, refusal, calls; returns whether it said anything."""
        said = self._read_reasoning(delta, ragged)
        content = delta.get("content")
        if content:
            said = self._read_content(content, ragged) or said
        if "annotations" in delta:
            self._cited.hear(delta["annotations"])
        if self._cited.waiting:
            self._cite()
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._say("message", REFUSAL, refusal, ragged)
            said = True
        calls = delta.get("tool_calls")
        if isinstance(calls, dict):
            calls = [calls]
        if isinstance(calls, list):
            for place, fragment in enumerate(calls):
                said = self._calls.fragment(fragment, place, ragged) or said
        legacy = delta.get("function_call")
        if legacy:
            said = self._calls.fragment(legacy, LEGACY, ragged) or said
        return said

    def _read_reasoning(self, delta: Json, ragged: bool) -> bool:
        """Hosts that send typed details repeat the same text in ``reasoning``: the details win, then either name."""
        said = False
        details = delta.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            if not isinstance(detail, dict):
                continue
            name = "summary" if detail.get("type") == "reasoning.summary" else "text"
            text = detail.get(name)
            if isinstance(text, str) and text:
                new = self._new(REASONING, text)
                detail = detail if new is text else {**detail, name: new}
                self._write("reasoning", REASONING, new, ragged)
                said = True
            self.details.append(detail)
        if not said:
            for name in ("reasoning_content", "reasoning"):
                text = delta.get(name)
                if isinstance(text, str) and text:
                    self._field = name
                    self._say("reasoning", REASONING, text, ragged)
                    return True
        return said

    def _read_content(self, content: Any, ragged: bool) -> bool:
        """Text, or Mistral's list of text and thinking parts."""
        if isinstance(content, str):
            self._field = "content"
            self._say("message", TEXT, content, ragged)
            return True
        said = False
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict):
                continue
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                steps = inner if isinstance(inner, list) else [{"text": inner}]
                texts = [step.get("text") for step in steps if isinstance(step, dict)]
                said = self._say_all("reasoning", REASONING, texts, ragged) or said
            else:
                said = self._say_all("message", TEXT, [part.get("text")], ragged) or said
        return said

    def _cite(self) -> None:
        """Write what the text that is open was drawn from; before there is any, annotations wait for it."""
        text = self._text
        if text is not None and TEXT in text.parts:
            for annotation in self._cited.take():
                self._emit.annotation(text.id, text.index, text.parts[TEXT], text.cited, annotation)
                text.cited += 1

    def _say_all(self, item: Literal["message", "reasoning"], kind: str, texts: list[Any], ragged: bool) -> bool:
        good = [text for text in texts if isinstance(text, str) and text]
        for text in good:
            self._say(item, kind, text, ragged)
        return bool(good)

    def _say(self, item: Literal["message", "reasoning"], kind: str, text: str, ragged: bool) -> None:
        self._write(item, kind, self._new(kind, text), ragged)

    def _write(self, item: Literal["message", "reasoning"], kind: str, text: str, ragged: bool) -> None:
        if self._calls.waiting:
            self._calls.open_named()
        open_text = self._text
        if open_text is None or open_text.type != item:
            open_text = self._open_text(item)
        part = open_text.parts.get(kind)
        if part is None:
            # Text and refusal share a message's content.
            part = open_text.parts[kind] = len(open_text.parts) if item == "message" else 0
        if ragged or open_text.joiners:
            text = open_text.joiners.setdefault(kind, SurrogateJoiner()).feed(text)
            if not open_text.joiners[kind]:
                del open_text.joiners[kind]
        self._emit.delta(kind, open_text.id, open_text.index, part, text)

    def _new(self, kind: str, text: str) -> str:
        """What is new in a delta that may repeat everything before it (MiniMax)."""
        said = self._said
        if said is None:
            return text
        before = said.get(kind)
        if before is None:
            before = said[kind] = Said()
        return before.new(text)

    def _open_text(self, item: Literal["message", "reasoning"]) -> _OpenText:
        self._close_text()
        if item == "message":
            body: Json = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
        else:
            body = {"type": "reasoning", "summary": []}
        index, identity = self._emit.open(body)
        self._text = _OpenText(item, index, identity)
        return self._text

    def _close_text(self) -> None:
        open_text, self._text = self._text, None
        if open_text is None:
            return
        for kind, joiner in open_text.joiners.items():
            self._emit.delta(kind, open_text.id, open_text.index, open_text.parts[kind], joiner.finish())
        self._emit.done(open_text.index)

    def _finish_reason(self, reason: str, choice: Json, said: bool) -> None:
        refuse(reason, choice)
        self._finished = True
        self._calling = reason in CALLING
        self._sequence = choice.get("stop_reason")  # vLLM: the sequence, or a token's number
        self._reason = INCOMPLETE_REASONS.get(reason) or self._reason
        # Some gateways put a finish_reason on every chunk: one that comes with content may not be the last.
        if not said:
            self._end_items()

    def _end_items(self) -> None:
        # An open text is newer than every open call, so this is the order of the indices.
        self._calls.finish(cut=self._reason is not None)
        self._close_text()

    def _close(self) -> None:
        self._end_items()
        if not self._emit.started:
            if self._silent_overflow and self._reason == "max_output_tokens":
                raise no_room()
            if self._calling and not self._relayed:
                raise no_call()
        status: Literal["completed", "incomplete"] = "incomplete" if self._reason else "completed"
        self.closed = Close(status, self._reason, stopped(self._sequence), chat_usage.to_hub(self._usage))

    def _note_usage(self, usage: Any) -> None:
        """Keep the newest: counts are cumulative where a host sends them with every chunk."""
        if isinstance(usage, dict) and usage:
            self._usage = usage
