"""What travels through a stream: three forms of the same thing, a Responses streaming event.

* ``Event``: one structural event as a dict (items, parts, done, unknown kinds). Rare, so it may cost a parse.
* ``Deltas``: consecutive deltas of one part, decoded. Made by decoders whose upstream speaks another format and by
  the tool bridge; they become bytes only when they are written.
* ``Run``: consecutive deltas of one kind as the very SSE bytes that the upstream sent. Never parsed unless a stream
  breaks or an upstream leaves out the events that should follow.

None of them carries a final sequence number: the lifecycle counts, the encoder writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Event:
    """One structural event. ``body`` is the event object without ``sequence_number``; ``kind`` equals its ``type``.

    ``held`` marks the ``*.done`` events of a tool call: they are released only when the upstream response closed
    properly (a client runs a call the moment it sees ``response.output_item.done``).
    """

    kind: str
    body: Json
    held: bool = False

    @property
    def count(self) -> int:
        return 1


@dataclass(slots=True)
class Deltas:
    """Consecutive deltas of one part, in order; each text becomes one event.

    ``part`` is the content_index or summary_index, or None for kinds that have none (arguments, custom input).
    """

    kind: str
    item_id: str
    output_index: int
    part: int | None
    texts: list[str]

    @property
    def count(self) -> int:
        return len(self.texts)


@dataclass(slots=True)
class Run:
    """Consecutive ``*.delta`` events of one kind as canonical SSE frames (``event: K``, ``data: {"type":"K",..}``).

    ``first`` is the sequence number of the first frame when all frames count up by one from there, else None.
    """

    kind: str
    block: bytes
    count: int
    first: int | None

    def split(self) -> list[Run]:
        """One run per frame: for a run whose frames must be treated apart."""
        frames = [frame + b"\n\n" for frame in self.block.split(b"\n\n")[:-1]]
        first = self.first
        return [Run(self.kind, frame, 1, None if first is None else first + n) for n, frame in enumerate(frames)]


StreamEvent: TypeAlias = Event | Deltas | Run

PART_FIELD: dict[str, str | None] = {
    "response.output_text.delta": "content_index",
    "response.refusal.delta": "content_index",
    "response.reasoning_text.delta": "content_index",
    "response.reasoning_summary_text.delta": "summary_index",
    "response.function_call_arguments.delta": None,
    "response.custom_tool_call_input.delta": None,
}
"""The delta kinds whose meaning the proxy knows, with the name of the field that says which part they belong to."""

TERMINALS = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""The events that end a response towards a client: exactly one of them, always last."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a converting route left out or changed, by a named rule.

    ``rule`` is an id from the module that applied it (``hosted_tool_left_out``), ``path`` the place in the client's
    request or the upstream's answer (``tools[3]``). Notes never carry text of either side.
    """

    rule: str
    path: str
