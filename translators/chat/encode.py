"""Hub events to the SSE bytes of a Chat Completions client.

A stream is one choice: the role first, then deltas of reasoning, text and calls, the finish chunk, usage when it was
asked for, ``[DONE]``. The fragment that completes a call's arguments leaves only when the call was released, right
before the finish chunk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from translators import surrogates
from translators.chat.annotations import of_text
from translators.chat.annotations import to_chat as annotation
from translators.chat.answer import asks_json, chat_usage, completion_id, finish_reason
from translators.chat.errors import stream_error
from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.holding import Gate
from translators.items import PublicResponse, is_commentary
from translators.lifecycle import Numbered
from translators.openitem import split_run
from translators.relay import HEAD, RAW
from translators.responses.encode import DONE

__all__ = ["ChatEncoder"]

KEEPALIVE = b": keepalive\n\n"
"""Chat clients take any data event for a chunk, so only a comment is safe."""
FIELDS: dict[str, str] = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "reasoning_content",
    "response.reasoning_text.delta": "reasoning_content",
}

_ALWAYS = frozenset({"keepalive", "response.failed"})
"""What is written where chunks are relayed: the rest says the same as they do."""


@dataclass(slots=True)
class _Call:
    """A call that is being written: its place in ``tool_calls``, and what of it has not left yet."""

    place: int
    custom: bool
    gate: Gate = field(default_factory=Gate)
    size: int = 0


class ChatEncoder:
    """One stream. ``request`` is the client's own body."""

    def __init__(self, public: PublicResponse, request: Json) -> None:
        head: Json = {
            "id": completion_id(public.suffix),
            "object": "chat.completion.chunk",
            "created": public.created_at,
            "model": public.model,
        }
        self._head = b"data: " + surrogates.dumps(head)[:-1] + b","
        self._delta = self._head + b'"choices":[{"index":0,"delta":'
        self._wants_usage = (request.get("stream_options") or {}).get("include_usage") is True
        self._legacy = bool(request.get("functions")) and not request.get("tools")
        self._json = asks_json(request)
        self._asides: set[int] = set()
        """Places of messages that are no part of the answer."""
        self._calls: dict[int, _Call] = {}
        self._role = self._chunk({"role": "assistant", "content": ""})
        self._reasoning: tuple[int, int] | None = None
        self._said = 0
        """Characters of the texts that have ended."""
        self._cited: list[Any] = []
        """Annotations of the text that is open."""
        self._relays = False
        self._opened = False

    def encode(self, events: Iterable[Numbered]) -> bytes:
        """The chunks of these events, joined."""
        out: list[bytes] = []
        for _, event in events:
            if event.kind in (RAW, HEAD):
                self._relayed(event, out)
            elif self._relays and event.kind not in _ALWAYS:
                continue
            elif isinstance(event, Deltas):
                self._deltas(event, out)
            elif isinstance(event, Run):
                for deltas in split_run(event) if event.kind in FIELDS or "arguments" in event.kind else ():
                    self._deltas(deltas, out)
            else:
                self._event(event, out)
        return b"".join(out)

    def _relayed(self, event: StreamEvent, out: list[bytes]) -> None:
        """Chunks as they came; the upstream's head stands for ours where both go out at once."""
        if event.kind == HEAD and self._opened:
            if not (len(out) == 1 and out[0] is self._role):
                return
            out.clear()
        self._relays = self._relays or event.kind == RAW
        out.append(event.block if isinstance(event, Run) else event.body["raw"] if isinstance(event, Event) else b"")

    def end(self, kind: str) -> bytes:
        """What follows the terminal event ``kind``."""
        return b"" if kind == "response.failed" else DONE

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        reason = b"null" if finish is None else orjson.dumps(finish)
        return b'%b%b,"logprobs":null,"finish_reason":%b}]}\n\n' % (self._delta, orjson.dumps(delta), reason)

    def _deltas(self, deltas: Deltas, out: list[bytes]) -> None:
        name = FIELDS.get(deltas.kind)
        if name is None:
            call = self._calls.get(deltas.output_index)
            for text in deltas.texts if call is not None else ():
                self._argument(call, text, out)
            return
        if deltas.output_index in self._asides:
            name = "reasoning_content"
        if name == "reasoning_content":
            self._paragraph(deltas, out)
        head, dumps = b'%b{"%b":' % (self._delta, name.encode()), orjson.dumps
        tail = b'},"logprobs":null,"finish_reason":null}]}\n\n'
        out += [b"%b%b%b" % (head, dumps(text), tail) for text in deltas.texts if text]

    def _paragraph(self, deltas: Deltas, out: list[bytes]) -> None:
        """Reasoning has one text here: a blank line stands between its parts."""
        part = (deltas.output_index, deltas.part or 0)
        if self._reasoning not in (None, part):
            out.append(self._chunk({"reasoning_content": "\n\n"}))
        self._reasoning = part

    def _argument(self, call: _Call | None, text: str, out: list[bytes]) -> None:
        if call is None:
            return
        if not call.custom:
            text = call.gate.feed(text)
        call.size += len(text)
        if text:
            out.append(self._chunk(self._fragment(call, text)))

    def _fragment(self, call: _Call, text: str) -> Json:
        if self._legacy:
            return {"function_call": {"arguments": text}}
        inner = {"custom": {"input": text}} if call.custom else {"function": {"arguments": text}}
        return {"tool_calls": [{"index": call.place, **inner}]}

    def _event(self, event: Event, out: list[bytes]) -> None:
        match event.kind:
            case "response.created":
                self._opened = True
                out.append(self._role)
            case "keepalive":
                out.append(KEEPALIVE)
            case "response.output_item.added":
                self._added(event.body, out)
            case "response.output_item.done":
                self._done(event.body, out)
            case "response.completed" | "response.incomplete":
                self._finish(event.body["response"], out)
            case "response.failed":
                out.append(stream_error(event.body["response"].get("error") or {}))
            case "response.output_text.annotation.added":
                self._cite([event.body.get("annotation")], out)
            case "response.content_part.done":
                if event.body.get("output_index") not in self._asides:
                    self._part_done(event.body.get("part"), out)
            case _:
                pass

    def _cite(self, given: list[Any], out: list[bytes]) -> None:
        self._cited += given
        told = [annotation(each, self._said) for each in given if isinstance(each, dict)]
        if told:
            out.append(self._chunk({"annotations": told}))

    def _part_done(self, part: Any, out: list[bytes]) -> None:
        """Not every upstream has events of its own for what the final text names."""
        given = of_text(part)
        if given is not None:
            self._cite([each for each in given if each not in self._cited], out)
            self._said += len(text) if isinstance(text := part.get("text"), str) else 0
            self._cited = []

    def _added(self, body: Json, out: list[bytes]) -> None:
        item = body["item"]
        if self._json and is_commentary(item):
            self._asides.add(body["output_index"])
        custom = item.get("type") == "custom_tool_call"
        if not custom and item.get("type") != "function_call":
            return
        if self._legacy and self._calls:
            return
        call = self._calls[body["output_index"]] = _Call(len(self._calls), custom)
        if self._legacy:
            out.append(self._chunk({"function_call": {"name": item["name"], "arguments": ""}}))
            return
        kind, text = ("custom", "input") if custom else ("function", "arguments")
        opened = {"index": call.place, "id": item["call_id"], "type": kind, kind: {"name": item["name"], text: ""}}
        out.append(self._chunk({"tool_calls": [opened]}))

    def _done(self, body: Json, out: list[bytes]) -> None:
        call = self._calls.get(body["output_index"])
        if call is None:
            return
        item: Json = body["item"]
        rest = str(item.get("input") or "")[call.size :] if call.custom else call.gate.rest(item["arguments"])
        if rest:
            out.append(self._chunk(self._fragment(call, rest)))

    def _finish(self, response: Json, out: list[bytes]) -> None:
        out.append(self._chunk({}, finish_reason(response, legacy=self._legacy)))
        if self._wants_usage:
            usage = orjson.dumps(chat_usage(response.get("usage")))
            out.append(b'%b"choices":[],"usage":%b}\n\n' % (self._head, usage))
