"""The stream of a Responses upstream to hub events.

Consecutive ``*.delta`` frames in the usual form leave as one raw run, unparsed. Everything else is parsed. The
upstream's own created, in_progress and keepalive events end here: the public response has its own.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from translators.close import Close
from translators.events import PART_FIELD, Deltas, Event, Json, Run, StreamEvent
from translators.failure import Failure
from translators.openitem import split_run
from translators.sse import frames
from translators.upstream_errors import from_error_object
from translators.usage import responses_usage

_RUN = re.compile(
    rb'event: (response\.[a-z_]+\.delta)\ndata: \{"type": ?"\1",[^\n]*\}\n\n'
    rb'(?:event: \1\ndata: \{"type": ?"\1",[^\n]*\}\n\n)*'
)
_NUMBER = re.compile(rb'"sequence_number": ?(\d+)')
_SWALLOWED = frozenset({"response.created", "response.in_progress", "response.queued", "keepalive", "ping"})
_CLOSES = {"response.completed": "completed", "response.done": "completed", "response.incomplete": "incomplete"}


class ResponsesDecoder:
    """One upstream attempt. ``first_index`` is the public output_index of its first item (earlier rounds came before).

    After each call ``closed`` holds the Close once the response ended properly; what follows it is ignored.
    """

    awaiting_close = False
    """Chat upstreams wait for a marker after their finish reason; here the terminal event is the marker."""

    def __init__(self, *, suffix: str, first_index: int = 0, max_arguments: int = 8 << 20) -> None:
        self.closed: Close | None = None
        self._offset = first_index
        self._indices: dict[str, int] = {}
        self._items = 0
        self._loose = False

    def feed(self, block: bytes) -> list[StreamEvent]:
        """Decode complete frames. Raises Failure for an upstream's own failure and for what is no valid event."""
        out: list[StreamEvent] = []
        position, size = 0, len(block)
        while position < size and self.closed is None:
            match = _RUN.match(block, position)
            if match is not None:
                self._run(match, out)
                position = match.end()
                continue
            end = block.find(b"\n\n", position) + 2
            for name, data in frames(block[position:end]):
                self._frame(name, data, out)
            position = end
        return out

    def finish(self) -> list[StreamEvent]:
        """The connection ended. A Responses stream closes only by its terminal event."""
        return []

    def decode_whole(self, body: bytes) -> list[StreamEvent]:
        """A complete response object, from an upstream that ignored ``stream: true``. Raises Failure as ``feed``."""
        response = parse_object(body)
        if response.get("object") != "response" and not isinstance(response.get("output"), list):
            if response.get("error"):
                raise from_error_object(response["error"])
            raise Failure("upstream_invalid_response", "The upstream answered with JSON that is no Responses object.")
        self._close("response.completed", {"response": response})
        return []

    def _run(self, match: re.Match[bytes], out: list[StreamEvent]) -> None:
        block, kind = match[0], match[1].decode()
        frame_count = block.count(b"\n\n")
        numbers = _NUMBER.findall(block)
        if not block.isascii():
            _check_utf8(block)
        first = None
        if len(numbers) == frame_count:
            first = int(numbers[0])
            if frame_count > 1 and list(map(int, numbers)) != list(range(first, first + frame_count)):
                first = None
        run = Run(kind, block, frame_count, first)
        if kind not in PART_FIELD or (len(numbers) == frame_count and not self._loose and not self._offset):
            out.append(run)
            return
        for single in run.split():
            if len(_NUMBER.findall(single.block)) == 1 and not self._loose and not self._offset:
                out.append(single)
                continue
            for deltas in _split(single):
                deltas.output_index = self._index(deltas.output_index, deltas.item_id)
                out.append(deltas)

    def _frame(self, name: bytes, data: bytes, out: list[StreamEvent]) -> None:
        if self.closed is not None or data == b"[DONE]" or not data:
            return
        body = parse_object(data)
        kind = body.pop("type", None)
        if not isinstance(kind, str):
            kind = name.decode("ascii", "replace")
        if kind == "error" or (not kind and "error" in body):
            nested = body.get("error")
            raise from_error_object(nested if nested else body)
        body.pop("sequence_number", None)
        if kind in _SWALLOWED or not kind:
            return
        if kind == "response.failed":
            error = (body.get("response") or {}).get("error")
            raise from_error_object(error or {"code": "server_error", "message": "The upstream response failed."})
        if kind in _CLOSES:
            self._close(kind, body)
            return
        self._item_event(kind, body, out)

    def _item_event(self, kind: str, body: Json, out: list[StreamEvent]) -> None:
        if kind == "response.output_item.added":
            item = body.get("item")
            index = body.get("output_index")
            self._loose = self._loose or not isinstance(index, int)
            index = index if isinstance(index, int) else self._items
            self._items += 1
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                self._indices[item["id"]] = index
            body["output_index"] = index + self._offset
        elif "output_index" in body or "item_id" in body or "item" in body:
            item = body.get("item")
            given = body.get("item_id") or (item.get("id") if isinstance(item, dict) else None)
            body["output_index"] = self._index(body.get("output_index"), given)
        if kind in PART_FIELD and isinstance(body.get("delta"), str):
            field = PART_FIELD[kind]
            part = body.get(field, 0) if field else None
            out.append(Deltas(kind, body.get("item_id") or "", body["output_index"], part, [body["delta"]]))
            return
        out.append(Event(kind, body))

    def _index(self, given: Any, item_id: Any) -> int:
        """The public output_index of an event: its own, else its item's, else the newest item's."""
        if isinstance(given, int) and given >= 0:
            return given + self._offset
        return self._indices.get(item_id, max(self._items - 1, 0)) + self._offset

    def _close(self, kind: str, body: Json) -> None:
        response = body.get("response")
        response = response if isinstance(response, dict) else {}
        status = response.get("status")
        if status == "failed" or (response.get("error") and status not in ("completed", "incomplete")):
            raise from_error_object(response.get("error") or {"message": "The upstream response failed."})
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        incomplete = _CLOSES[kind] == "incomplete" or status == "incomplete"
        self.closed = Close(
            "incomplete" if incomplete else "completed",
            reason=(reason if isinstance(reason, str) else "max_output_tokens") if incomplete else None,
            response=response,
            usage=responses_usage(response.get("usage")),
        )


def parse_object(data: bytes) -> Json:
    """One event's JSON object. Raises Failure ``upstream_invalid_response``, which never quotes the data."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not valid JSON.") from error
    if not isinstance(body, dict):
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not a JSON object.")
    return body


def _split(run: Run) -> list[Deltas]:
    try:
        return split_run(run)
    except (ValueError, KeyError, TypeError) as error:
        raise Failure("upstream_invalid_response", "The upstream sent an event that is not valid JSON.") from error


def _check_utf8(block: bytes) -> None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        raise Failure("upstream_invalid_response", "The upstream sent bytes that are not UTF-8.") from error
