"""Chat to Chat: the request nearly as it came, and a decoder that leaves the chunks as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from translators import surrogates
from translators.chat.decode import ChatDecoder
from translators.chat.finish import INCOMPLETE_REASONS, NO_ANSWER
from translators.chat.usage import to_hub
from translators.close import Close
from translators.events import Event, Json, Note, StreamEvent
from translators.relay import HEAD, Renaming, completes, passed
from translators.relay_decoder import RelayDecoder
from translators.sse import DONE, frames
from translators.template import Template
from translators.values import values

__all__ = ["ChatRelay", "build"]

_START, _NEXT = b"data: ", b"\n\ndata: "
_END = b"data: [DONE]\n\n"
_TEXT = re.compile(rb'"(?:content|reasoning_content|reasoning)": ?(?=")')
_CALLS = ("tool_calls", "function_call")
_UNKNOWN_ELSEWHERE = ("developer",)


def build(original: Json, model: str, reseal: Callable[[str], Json | None], notes: list[Note]) -> Json | None:
    """The body that goes up, ``messages`` last, nothing left out; None for what most upstreams do not know: custom
    tools, and the role that only OpenAI has."""
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


class ChatRelay(RelayDecoder):
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
            ChatDecoder(suffix=suffix, first_index=first_index, max_arguments=max_arguments, relayed=True),
            renaming,
            Template(_TEXT, _text, renaming),
            "The upstream ended its stream without a finish_reason.",
            streams=request.get("stream") is True,
        )
        choices = request.get("n")
        self._unended = choices if isinstance(choices, int) else 1
        """Choices that have not ended yet."""
        self._wants_usage = (request.get("stream_options") or {}).get("include_usage") is True

    @property
    def awaiting_close(self) -> bool:
        """Whether only the end is missing: of several choices the first is not the last."""
        return (self._unended <= 0 or not self._streams) and super().awaiting_close

    def _plain(self, block: bytes, position: int) -> int:
        """Chunks of content, each one line of JSON: one parse for all of them."""
        end = len(block) - (len(_END) if block.endswith(_END) else 0)
        if end <= position or not block.startswith(_START, position):
            return position
        texts = block[position + len(_START) : end - 2].split(_NEXT)
        # JSON may go on behind a line end, data of an event may not.
        chunks = values(texts) if block.count(b"\n", position, end) == 2 * len(texts) else None
        if chunks is None:
            return position
        for place, chunk in enumerate(chunks):
            if not _is_content(chunk):
                return position + len(_NEXT) * place + sum(map(len, texts[:place]))
        return end

    def _said(self, body: bytes) -> Close | None:
        try:
            answer = orjson.loads(body)
            (choice,) = answer["choices"]
            message, reason, usage = choice["message"], choice["finish_reason"].lower(), answer["usage"]
            words_alone = type(message["content"]) is str and not any(message.get(name) for name in _CALLS)
        except (orjson.JSONDecodeError, LookupError, TypeError, ValueError, AttributeError):
            return None
        if not words_alone or not reason or reason in NO_ANSWER or answer.get("error"):
            return None
        if choice.get("usage") or choice.get("index"):
            return None
        incomplete = INCOMPLETE_REASONS.get(reason)
        return Close("incomplete" if incomplete else "completed", incomplete, None, to_hub(usage))

    def _frame(self, frame: bytes, out: list[StreamEvent]) -> None:
        data = next((data for _, data in frames(frame)), b"")
        if data.strip() == DONE:
            out += self._of_calls(frame)
            return
        chunk = _parsed(data)
        if chunk is None and frame.startswith(_START) and (chunk := _parsed(frame[len(_START) :])) is not None:
            # Written over several lines without saying so: the decoder takes that, but clients do not.
            frame = frame[:-2].replace(b"\n", b" ") + b"\n\n"
        choice = _choice(chunk)
        if choice is None or _says_more(chunk, choice):
            self._special(frame, chunk, choice, out)
        elif not self._begun and _only_head(choice):
            self._head(frame, choice, out)
        else:
            self._begun = True
            out.append(self._passed(self._rename(frame)))
            self._learn(frame)

    def _head(self, frame: bytes, choice: Json, out: list[StreamEvent]) -> None:
        """A chunk that says nothing yet stands for the proxy's own head if it names the role; without, it is a sign of
        life, of which clients hear in another way."""
        if choice["delta"].get("role"):
            out.append(Event(HEAD, {"raw": self._rename(frame)}))

    def _special(self, frame: bytes, chunk: Any, choice: Json | None, out: list[StreamEvent]) -> None:
        """A frame that the decoder has to see: calls, the end, usage, errors, and what is no chunk at all."""
        events = self._of_calls(frame)
        if choice is None and not chunk:
            out += events
            return
        self._holding = self._holding or completes(events, self._gates)
        if choice is not None and choice.get("finish_reason"):
            self._holding = True
            self._unended -= 1
        elif not self._begun and choice is not None and _only_head(choice):
            # Some hosts tell usage from the first chunk on.
            self._head(frame, choice, out)
            return
        if self._holding and not self._begun:
            # What the client sees is relayed, though nothing of it may leave yet: no encoder writes the calls itself.
            out.append(passed(b""))
        if choice is not None or self._wants_usage:
            self._begun = True
            several = frame.count(b'"model"') > 1  # arguments that came as an object may name a model, too
            out.append(self._passed(self._rename.whole(frame) if several else self._rename(frame)))
        out += events


def _text(chunk: Json) -> Any:
    """The text of a chunk that says one."""
    delta = chunk["choices"][0]["delta"]
    return delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")


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
    return (
        bool(choice.get("finish_reason") or choice.get("usage") or chunk.get("usage") or chunk.get("error"))
        or not isinstance(delta, dict)
        or any(delta.get(name) for name in _CALLS)
    )


def _is_content(chunk: Any) -> bool:
    """Whether a chunk says nothing that the decoder has to see."""
    try:
        choice = chunk["choices"][0]
        delta = choice["delta"]
        return not (
            choice.get("finish_reason")
            or chunk.get("usage")
            or choice.get("usage")
            or delta.get("tool_calls")
            or delta.get("function_call")
            or chunk.get("error")
        )
    except (LookupError, TypeError, AttributeError):
        return False


def _only_head(choice: Json) -> bool:
    """The chunk that names the role and says nothing yet."""
    delta = choice.get("delta")
    return isinstance(delta, dict) and not any(value for name, value in delta.items() if name != "role")
