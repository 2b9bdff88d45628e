"""Stop sequences for an upstream that cannot be told of them: the text ends here, at the first of them.

A decoder around the upstream's decoder. It holds back the end of a text only as long as that may be the beginning of a
sequence. Where one is found the response closes at once and nothing more of the stream is read. What the upstream says
of tokens at its end is known only where that had come already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from translators.close import STOPPED, Close, stopped
from translators.events import Deltas, Event, Json, Run, StreamEvent
from translators.openitem import split_run
from translators.registry import Decoder
from translators.wrapper import DecoderWrapper

__all__ = ["Stopping", "sequences"]

TEXT = "response.output_text.delta"
TEXT_DONE = "response.output_text.done"
PART_DONE = "response.content_part.done"
DONE = "response.output_item.done"
BESIDE = frozenset({"response.output_text.annotation.added", "response.in_progress", "keepalive"})
"""Events that may stand between two deltas of one text."""


def sequences(body: Json) -> tuple[str, ...]:
    """The stop sequences of a hub request."""
    stop = body.get("stop")
    given = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    return tuple(each for each in given if isinstance(each, str) and each)


class Stopping(DecoderWrapper):
    """Wraps the decoder of one attempt; ``stops`` is not empty."""

    def __init__(self, inner: Decoder, stops: Sequence[str]) -> None:
        super().__init__(inner)
        self._stops = stops
        self._longest = max(map(len, stops)) - 1
        self._firsts = frozenset(each[0] for each in stops)
        self._closed: Close | None = None
        self._held: Deltas | None = None
        """The newest text that may be the beginning of a sequence, as the one text of its event."""

    @property
    def closed(self) -> Close | None:
        """How the response ended, once it did: by itself, or at a sequence."""
        return self._closed or self._inner.closed

    def _through(self, events: list[StreamEvent]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for event in events:
            if event.kind != TEXT:
                self._other(event, out)
            else:
                for deltas in split_run(event) if isinstance(event, Run) else [event]:
                    self._text(deltas, out)
            if self._closed is not None:
                break
        close = self._inner.closed
        if close is None:
            return out
        if self._closed is None:
            self._release(out)
            self._whole(close)
        else:
            self._closed = replace(self._closed, usage=close.usage)
        return out

    def _text(self, event: Any, out: list[StreamEvent]) -> None:
        """More of a text. What is held belongs to the same part, or to one that went on elsewhere."""
        if self._closed is not None:
            return
        held, text = self._held, "".join(event.texts)
        if held is not None and (held.output_index, held.part) == (event.output_index, event.part):
            text, self._held = held.texts[0] + text, None
        else:
            self._release(out)
        found = self._find(text)
        if found is not None:
            place, sequence = found
            if text[:place]:
                out.append(Deltas(TEXT, event.item_id, event.output_index, event.part, [text[:place]]))
            self._stop(event.output_index, sequence, out)
            return
        keep = self._beginning(text)
        if text[: len(text) - keep]:
            out.append(Deltas(TEXT, event.item_id, event.output_index, event.part, [text[: len(text) - keep]]))
        if keep:
            self._held = Deltas(TEXT, event.item_id, event.output_index, event.part, [text[-keep:]])

    def _other(self, event: StreamEvent, out: list[StreamEvent]) -> None:
        """An event that is no text; upstreams that stream none may have it in here."""
        if event.kind not in BESIDE:
            self._release(out)
        out.append(event)
        if not isinstance(event, Event):
            return
        index = event.body.get("output_index")
        sequence: str | None = None
        if event.kind == TEXT_DONE:
            sequence = self._cut(event.body)
        elif event.kind == PART_DONE:
            sequence = self._cut(event.body.get("part"))
        elif event.kind == DONE:
            sequence = self._cut_item(event.body.get("item"))
        if sequence is not None and event.kind == DONE:
            self._closed = Close("completed", None, stopped(sequence))
        elif sequence is not None and isinstance(index, int):
            self._stop(index, sequence, out)

    def _whole(self, close: Close) -> None:
        """Items that only the upstream's final object has."""
        output = (close.response or {}).get("output")
        for place, item in enumerate(output if isinstance(output, list) else ()):
            sequence = self._cut_item(item)
            if sequence is not None:
                kept = {"output": output[: place + 1], STOPPED: sequence} if isinstance(output, list) else None
                self._closed = Close("completed", None, kept, close.usage)
                return

    def _stop(self, index: int, sequence: str, out: list[StreamEvent]) -> None:
        out.append(Event(DONE, {"type": DONE, "output_index": index}))
        self._closed = Close("completed", None, stopped(sequence))

    def _release(self, out: list[StreamEvent]) -> None:
        if self._held is not None:
            out.append(self._held)
            self._held = None

    def _find(self, text: str) -> tuple[int, str] | None:
        """Where the sequence stands that is complete first, and which one; of several the longest. So it is the same
        one however the text was cut."""
        found = [(text.find(each) + len(each), -len(each), each) for each in self._stops if each in text]
        if not found:
            return None
        end, _, sequence = min(found)
        return end - len(sequence), sequence

    def _beginning(self, text: str) -> int:
        """How many characters at the end may be the beginning of a sequence."""
        end = len(text)
        for start in range(max(0, end - self._longest), end):
            if text[start] in self._firsts and any(each.startswith(text[start:]) for each in self._stops):
                return end - start
        return 0

    def _cut_item(self, item: Any) -> str | None:
        content = item.get("content") if isinstance(item, dict) and item.get("type") == "message" else None
        for part in content if isinstance(content, list) else ():
            sequence = self._cut(part)
            if sequence is not None:
                return sequence
        return None

    def _cut(self, part: Any) -> str | None:
        """Cut a part's text where a sequence stands; which one."""
        if not isinstance(part, dict) or not isinstance(text := part.get("text"), str):
            return None
        found = self._find(text)
        if found is None:
            return None
        part["text"] = text[: found[0]]
        return found[1]
