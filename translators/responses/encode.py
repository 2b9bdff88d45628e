"""Hub events to the SSE bytes of a Responses client, with their public sequence numbers.

Raw runs whose numbers are already right leave as the slice that came in; wrong numbers are spliced into the bytes.
Deltas are written from a bytes template, so that only their text is serialised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

import orjson

from translators import surrogates
from translators.events import PART_FIELD, Deltas, Event, Json, Run
from translators.lifecycle import Numbered

DONE = b"data: [DONE]\n\n"
"""Follows ``response.completed`` and ``response.incomplete``, never ``response.failed``."""

_NUMBER = re.compile(rb'("sequence_number": ?)\d+')


class ResponsesEncoder:
    """Stateless: numbered events in, framed SSE bytes out."""

    def encode(self, events: Iterable[Numbered]) -> bytes:
        """The frames of these events, joined."""
        out: list[bytes] = []
        for number, event in events:
            if isinstance(event, Run):
                out.append(event.block if event.first == number else _renumber(event, number))
            elif isinstance(event, Deltas):
                out += _deltas(event, number)
            else:
                out.append(_event(event, number))
        return b"".join(out)

    def end(self, kind: str) -> bytes:
        """What follows the terminal event ``kind``."""
        return b"" if kind == "response.failed" else DONE


def _renumber(run: Run, number: int) -> bytes:
    numbers = count(number)
    return _NUMBER.sub(lambda match: match[1] + b"%d" % next(numbers), run.block)


def _deltas(deltas: Deltas, number: int) -> list[bytes]:
    kind = deltas.kind.encode()
    head = b'event: %b\ndata: {"type":"%b","sequence_number":' % (kind, kind)
    place = b',"item_id":%b,"output_index":%d' % (orjson.dumps(deltas.item_id), deltas.output_index)
    field = PART_FIELD[deltas.kind]
    if field is not None:
        place += b',"%b":%d' % (field.encode(), deltas.part or 0)
    place += b',"delta":'
    tail = b',"logprobs":[]}\n\n' if deltas.kind == "response.output_text.delta" else b"}\n\n"
    dumps = orjson.dumps
    return [b"%b%d%b%b%b" % (head, n, place, dumps(text), tail) for n, text in enumerate(deltas.texts, number)]


def _event(event: Event, number: int) -> bytes:
    kind = orjson.dumps(event.kind)
    # A line break in a name would end the line: the data alone says the type then.
    name = b"" if "\n" in event.kind or "\r" in event.kind else b"event: %b\n" % event.kind.encode()
    body = event.body
    if "type" in body or "sequence_number" in body:
        body = {key: value for key, value in body.items() if key not in ("type", "sequence_number")}
    rest = surrogates.dumps(body)[1:]
    comma = b"," if body else b""
    return b'%bdata: {"type":%b,"sequence_number":%d%b%b\n\n' % (name, kind, number, comma, rest)


def whole(response: Json, request: Json) -> bytes:
    """The answer to a request without ``stream``: the response object itself."""
    # What the client sent comes back as it was, halves of characters included.
    return surrogates.dumps(response)
