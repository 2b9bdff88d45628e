"""The stream of a Responses upstream to hub events.

Consecutive ``*.delta`` frames in the usual form leave as one raw run, unparsed. Everything else is parsed. The
upstream's own created, in_progress and keepalive events end here: the public response has its own.
"""

from __future__ import annotations

import re

from translators.chat.faults import refuse_bare_error
from translators.close import Close
from translators.events import PART_FIELD, Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.openitem import BY_TEXT_DONE, PART_ADDED, PART_DONE
from translators.responses.places import ADDED, Places, index_of
from translators.responses.places import DONE as DONE_EVENT
from translators.sse import DONE, frames
from translators.surrogates import SurrogateJoiner, clean_tree, dumps, escaped, loads
from translators.upstream_errors import from_error_object
from translators.usage import responses_usage

_RUN = re.compile(
    rb'event: (response\.[a-z_]+\.delta)\ndata: \{"type": ?"\1",[^\n]*\}\n\n'
    rb'(?:event: \1\ndata: \{"type": ?"\1",[^\n]*\}\n\n)*'
)
_NUMBER = re.compile(rb'"sequence_number": ?(\d{1,15})(?=[,}])')
_PLACE = re.compile(rb'"output_index": ?\d{1,9}(?=[,}])')
_KIND = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
ARGUMENTS = "response.function_call_arguments.delta"
_SWALLOWED = frozenset({"response.created", "response.in_progress", "response.queued", "keepalive", "ping"})
_FRAME = re.compile(rb"event: ([^\n]*)\ndata: (\{[^\n]*\})\n\n")
"""A frame in the usual form: no need to take it apart line by line."""
_UNREAD = {
    kind.encode(): tuple(f'{{"type":{space}"{kind}",'.encode() for space in ("", " "))
    for kind in ("response.created", "response.in_progress")
}
"""Swallowed events that repeat the whole request: not even parsed when their form is the usual one."""
_CLOSES = {"response.completed": "completed", "response.done": "completed", "response.incomplete": "incomplete"}
_ERRORS = frozenset({"error", "response.error"})
_PLACED = frozenset(
    {*PART_FIELD, *BY_TEXT_DONE, *PART_ADDED, *PART_DONE, "response.function_call_arguments.done",
     "response.custom_tool_call_input.done", "response.output_text.annotation.added"}
)  # fmt: skip
"""Events that always belong to an item, also where an upstream sends neither its id nor its index."""


class ResponsesDecoder:
    """One upstream attempt. ``first_index`` is the public output_index of its first item (earlier rounds came before).

    After each call ``closed`` holds the Close once the response ended properly; what follows it is ignored.
    ``max_arguments`` is enforced where arguments are put together, by the assembler.
    """

    awaiting_close = False
    """Chat upstreams wait for a marker after their finish reason; here the terminal event is the marker."""

    def __init__(self, *, suffix: str, first_index: int = 0, max_arguments: int = 8 << 20) -> None:
        self.closed: Close | None = None
        self._offset = first_index
        self._places = Places()
        self._halves: dict[tuple[str, int, int | None], SurrogateJoiner] = {}

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Decode complete frames. Raises Failure for an upstream's own failure and for what is no valid event."""
        out: list[StreamEvent] = []
        position, size = 0, len(block)
        while position < size and self.closed is None:
            if block[position] == 0x0A:  # more blank lines than one
                position += 1
                continue
            match = _RUN.match(block, position)
            if match is not None:
                self._run(match[0], match[1].decode(), out)
                position = match.end()
                continue
            match = _FRAME.match(block, position)
            if match is not None:
                name, data = match.groups()
                if not data.startswith(_UNREAD.get(name, b"\n")):
                    self._frame(name, data, out)
                position = match.end()
                continue
            end = block.index(b"\n\n", position) + 2
            self._frames(block[position:end], out)
            position = end
        return out

    def finish(self) -> list[StreamEvent]:
        """The connection ended. A Responses stream closes only by its terminal event."""
        return []

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """A complete response object, from an upstream that ignored ``stream: true``. Raises Failure as ``feed``."""
        response: Json = _cleaned({"response": parse_object(body)})["response"]
        if response.get("object") != "response" and not isinstance(response.get("output"), list):
            if response.get("error"):
                raise from_error_object(response["error"])
            refuse_bare_error(response)
            raise Failure("upstream_invalid_response", "The upstream answered with JSON that is no Responses object.")
        if response.get("status") in ("queued", "in_progress"):
            raise Failure("upstream_invalid_response", "The upstream answered with a response that is not finished.")
        self._close("response.completed", response)
        return []

    def _frames(self, block: bytes, out: list[StreamEvent]) -> None:
        for name, data in frames(block):
            self._frame(name, data, out)

    def _run(self, block: bytes, kind: str, out: list[StreamEvent]) -> None:
        """Raw when every frame says its number and place and both are the client's too, else each by itself."""
        count = block.count(b"\n\n")
        if not block.isascii():
            _check_utf8(block)
        numbers = _NUMBER.findall(block)
        if not self._passes(block, kind, count, len(numbers)):
            self._apart(block, kind, count, out)
            return
        first: int | None = int(numbers[0])
        if count > 1 and list(map(int, numbers)) != list(range(int(numbers[0]), int(numbers[0]) + count)):
            if not _each_numbered(block):
                self._apart(block, kind, count, out)
                return
            first = None
        out.append(Run(kind, block, count, first))

    def _apart(self, block: bytes, kind: str, count: int, out: list[StreamEvent]) -> None:
        if count == 1:
            self._frames(block, out)
            return
        for frame in block.split(b"\n\n")[:-1]:
            self._run(frame + b"\n\n", kind, out)

    def _passes(self, block: bytes, kind: str, count: int, numbers: int) -> bool:
        if numbers != count or self._places.loose or self._offset:
            return False
        if b"\\ud" in block or b"\\uD" in block or self._halves:
            return False  # half of a character may stand there; strict JSON readers refuse it
        if kind not in PART_FIELD:
            return True
        place = _PLACE.search(block)  # nearly always the same in all frames, and counting bytes is cheap
        return place is not None and (block.count(place[0] + b",") == count or len(_PLACE.findall(block)) == count)

    def _frame(self, name: bytes, data: bytes, out: list[StreamEvent]) -> None:
        if self.closed is not None or data.strip() == DONE:
            return
        body = parse_object(data)
        kind = body.pop("type", None)
        if not isinstance(kind, str):
            kind = name.decode("ascii", "replace")
        if kind in _ERRORS or (not kind and "error" in body):
            nested = body.get("error")
            raise from_error_object(nested if nested else body)
        if not kind:
            refuse_bare_error(body)
        if kind in _SWALLOWED or not kind:
            return
        if _KIND.fullmatch(kind) is None:
            raise Failure("upstream_invalid_response", "The upstream sent an event whose type is not a name.")
        body.pop("sequence_number", None)
        if kind not in PART_FIELD:
            body = _cleaned(body) if b"\\ud" in data or b"\\uD" in data else body
        if kind == "response.failed":
            raise _failed(as_object(body.get("response")))
        if kind in _CLOSES:
            self._close(kind, as_object(body.get("response")))
        elif kind in PART_FIELD:
            self._delta(kind, body, out)
        else:
            self._item_event(kind, body, out)

    def _item_event(self, kind: str, body: Json, out: list[StreamEvent]) -> None:
        if kind in (ADDED, DONE_EVENT):
            body["output_index"] = self._places.place(body, done=kind == DONE_EVENT) + self._offset
        elif "output_index" in body or "item_id" in body or kind in _PLACED:
            body["output_index"] = self._places.find(body) + self._offset
        out.append(Event(kind, body))

    def _delta(self, kind: str, body: Json, out: list[StreamEvent]) -> None:
        text = body.get("delta")
        if text is None:
            return
        if not isinstance(text, str):
            raise Failure("upstream_invalid_response", "The upstream sent a delta that is not a string.")
        index = self._places.find(body) + self._offset
        field = PART_FIELD[kind]
        part = index_of(body.get(field)) or 0 if field else None
        if self._halves or not text.isascii():
            text = self._joined((kind, index, part), text)
        last = out[-1] if out else None
        if isinstance(last, Deltas) and (last.kind, last.output_index, last.part) == (kind, index, part):
            last.texts.append(text)
        else:
            item_id = body.get("item_id")
            out.append(Deltas(kind, item_id if isinstance(item_id, str) else "", index, part, [text]))

    def _joined(self, key: tuple[str, int, int | None], text: str) -> str:
        """Halves of one character that an upstream cut between two deltas come together again."""
        joiner = self._halves.pop(key, None) or SurrogateJoiner(in_json=key[0] == ARGUMENTS)
        text = joiner.feed(text)
        if joiner:
            self._halves[key] = joiner
        return text

    def _close(self, kind: str, response: Json) -> None:
        status = response.get("status")
        if status in ("failed", "cancelled") or (response.get("error") and status not in ("completed", "incomplete")):
            raise _failed(response)
        incomplete = _CLOSES[kind] == "incomplete" or status == "incomplete"
        self.closed = Close(
            "incomplete" if incomplete else "completed",
            reason=(_reason(response) or "max_output_tokens") if incomplete else None,
            response=response,
            usage=responses_usage(response.get("usage")),
        )


def parse_object(data: bytes) -> Json:
    """One event's JSON object. Raises Failure ``upstream_invalid_response``, which never quotes the data."""
    try:
        body = loads(data)
    except ValueError as error:
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not valid JSON.") from error
    if not isinstance(body, dict):
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not a JSON object.")
    return body


def as_object(value: object) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _cleaned(body: Json) -> Json:
    """An event without halves of characters. Arguments are JSON text by themselves, or the object in it."""
    output = as_object(body.get("response")).get("output")
    for each in (body, body.get("item"), *(output if isinstance(output, list) else ())):
        arguments = as_object(each).get("arguments")
        if isinstance(arguments, (str, dict)):
            each["arguments"] = escaped(arguments) if isinstance(arguments, str) else dumps(arguments).decode()
    cleaned: Json = clean_tree(body)
    return cleaned


def _failed(response: Json) -> Failure:
    error = response.get("error") or {"code": "server_error", "message": "The upstream response failed."}
    failure = from_error_object(error)
    failure.incomplete_reason = _reason(response)
    failure.usage = responses_usage(response.get("usage"))
    failure.upstream_id = upstream_id if isinstance(upstream_id := response.get("id"), str) else None
    return failure


def _reason(response: Json) -> str | None:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return reason if isinstance(reason, str) and reason else None


def _each_numbered(block: bytes) -> bool:
    """Whether every frame has one number: as many numbers as frames may stand two in one and none in another."""
    return all(len(_NUMBER.findall(frame)) == 1 for frame in block.split(b"\n\n")[:-1])


def _check_utf8(block: bytes) -> None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        raise Failure("upstream_invalid_response", "The upstream sent bytes that are not UTF-8.") from error
