"""Relay: a same-format route, on which bytes stay as they are.

The decoder of such a route sorts the frames: content leaves at once as a ``Run``, the head as an event that is no
content yet, and from the fragment that completes a tool call on everything is held until the response has closed
properly. Calls are judged as on every route; their hub events stay inside. Encoders write what is relayed as it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import orjson

from translators.dialects.base import ALL_CHOICES, Dialect
from translators.events import Deltas, Event, Json, Note, Run, StreamEvent
from translators.holding import Gate

__all__ = [
    "AS_IT_IS",
    "HEAD",
    "RAW",
    "WHOLE",
    "Relay",
    "Renaming",
    "completes",
    "held",
    "of_calls",
    "passed",
    "plain",
    "whole_of",
]

RAW: Final = "relay"
"""Kind of a run or event that holds frames of the client's own format (``raw``)."""
HEAD: Final = "relay.head"
"""The same for frames that only open the answer: another attempt may still take over."""
WHOLE: Final = "relay.whole"
"""Key of a close's response that holds an answer without stream, as it came."""
_MODEL = re.compile(rb'"model"\s*:\s*"(?:[^"\\]|\\.)*+"')
_rewrites = attrgetter(
    *("refused", "max_tokens_limit", "one_sampling_field", "schema", "tool_limit", "reserved_names", "images", "files"),
    *("later_system", "merge_same_role", "assistant_after_tool", "user_last", "user_needed", "unknown_fields"),
    *("call_id_length", "call_id_limit", "tools_beside_calls", "strict_tools", "parallel_tool_calls"),
    *("replay_required", "sign_calls", "json_schema", "efforts", "reasoning"),
)
_NO_REWRITES = _rewrites(Dialect())
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
"""What tells how deep in a JSON text one is."""


@dataclass(frozen=True, slots=True)
class Relay:
    """How requests of one client format go to an upstream of the same format.

    ``build``: (client's own body, upstream's model, opener of sealed thoughts, notes on what is left out or changed) ->
    the body that goes up, or None where only the way over the hub serves it. ``decoder``: parameters of every decoder,
    and ``renaming`` and the client's own body ``request``.
    """

    build: Callable[[Json, str, Callable[[str], Json | None], list[Note]], Json | None]
    decoder: Callable[..., Any]


class Renaming:
    """Puts the model's name as the client sent it into frames; None leaves them as they are."""

    def __init__(self, name: str | None) -> None:
        self._field = b"" if name is None else b'"model":' + orjson.dumps(name)
        self._known = b""

    def __call__(self, raw: bytes, count: int = 0) -> bytes:
        """The frames with their model renamed; ``count`` as in ``re.sub``. Texts cannot match: their quotes are
        escaped."""
        if not self._field:
            return raw
        if self._known and not count:
            renamed = raw.replace(self._known, self._field)
            if renamed.count(self._field) == raw.count(b'"model"'):
                return renamed
        found = _MODEL.search(raw)
        if found is not None:
            self._known = found[0]
        return _MODEL.sub(lambda match: self._field, raw, count=count)

    def whole(self, body: bytes) -> bytes:
        """An answer without stream, with its own ``model`` renamed: the arguments of a call may have one as well, and
        some servers write those first."""
        depth = 0
        if not self._field:
            return body
        for token in _TOKEN.finditer(body):
            sign = token[0]
            if sign in (b"{", b"["):
                depth += 1
            elif sign in (b"}", b"]"):
                depth -= 1
            elif depth == 1 and (found := _MODEL.match(body, token.start())):
                return body[: found.start()] + self._field + body[found.end() :]
        return body


AS_IT_IS: Final = Renaming(None)
"""No renaming."""


def passed(raw: bytes) -> Run:
    """Frames that leave at once."""
    return Run(RAW, raw, 1, None)


def held(raw: bytes) -> Event:
    """Frames that leave when the response has closed properly."""
    return Event(RAW, {"raw": raw}, held=True)


def plain(dialect: Dialect) -> bool:
    """Whether a request needs nothing for this upstream that its client could not know."""
    return dialect.tool_choice == ALL_CHOICES and _rewrites(dialect) == _NO_REWRITES


def of_calls(events: list[StreamEvent], calls: set[int]) -> list[StreamEvent]:
    """Those events that belong to calls; ``calls`` are their indices so far."""
    out: list[StreamEvent] = []
    for event in events:
        if isinstance(event, Event):
            index = event.body.get("output_index")
            item = event.body.get("item") or {}
            if event.kind == "response.output_item.added" and item.get("type") == "function_call":
                calls.add(event.body["output_index"])
        else:
            index = event.output_index if isinstance(event, Deltas) else None
        if index in calls:
            out.append(event)
    return out


def completes(events: list[StreamEvent], gates: dict[int, Gate]) -> bool:
    """Whether one of these events makes the arguments of a call whole; ``gates`` by output_index."""
    shut = False
    for event in events:
        if isinstance(event, Deltas) and event.kind == "response.function_call_arguments.delta":
            gate = gates.setdefault(event.output_index, Gate())
            for text in event.texts:
                shut = gate.feed(text) != text or shut
    return shut


def whole_of(response: Json) -> bytes | None:
    """The answer as it came, where the finished response holds one."""
    raw = response.get(WHOLE)
    return raw if isinstance(raw, bytes) else None
