"""The three forms of an event in a stream."""

from __future__ import annotations

import pytest

from translators.events import PART_FIELD, Deltas, Event, Run, StreamEvent
from translators.openitem import split_run

FRAME = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"%d"}\n\n'
KIND = "response.output_text.delta"


@pytest.mark.parametrize(
    ("event", "count"),
    [
        (Event("response.created", {}), 1),
        (Deltas(KIND, "m", 0, 0, ["a", "b", "c"]), 3),
        (Run(KIND, FRAME % 1 + FRAME % 2, 2, 7), 2),
    ],
)
def test_an_event_knows_how_many_numbers_it_takes(event: StreamEvent, count: int) -> None:
    assert event.count == count


@pytest.mark.parametrize(("first", "numbers"), [(7, [7, 8, 9]), (None, [None] * 3)])
def test_a_run_splits_into_its_frames(first: int | None, numbers: list[int | None]) -> None:
    frames = [FRAME % n for n in range(3)]
    singles = Run(KIND, b"".join(frames), 3, first).split()
    assert singles == [Run(KIND, frame, 1, number) for frame, number in zip(frames, numbers, strict=True)]


@pytest.mark.parametrize("kind", PART_FIELD)
def test_every_known_delta_kind_can_be_read_from_raw_frames(kind: str) -> None:
    part = PART_FIELD[kind]
    field = f',"{part}":2' if part else ""
    frame = f'event: {kind}\ndata: {{"type":"{kind}","item_id":"i","output_index":3{field},"delta":"é"}}\n\n'
    block = frame.encode() * 2
    assert split_run(Run(kind, block, 2, None)) == [Deltas(kind, "i", 3, 2 if part else None, ["é", "é"])]
