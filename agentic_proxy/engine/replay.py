"""Replay: the events of a background response from the store, while another process makes it or after its end."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import orjson

from agentic_proxy.engine.running import ending, frame_of, send
from translators.events import TERMINALS, Json

if TYPE_CHECKING:
    from agentic_proxy.engine.delivery import Sink
    from agentic_proxy.store.base import ResponseRow, Store

POLL = 0.5
"""Seconds between two looks at a response that another process makes."""
AT_ONCE = 1024
"""Frames in one write: a response can have a hundred thousand, and other streams wait meanwhile."""


async def replay(store: Store, row: ResponseRow, after: int, sink: Sink, keepalive: float) -> None:
    """Send kept events above ``after`` to ``sink``, to the end of the response, with a filler event after each
    ``keepalive`` seconds of silence; nothing when the end itself is not above it. An end that was not kept (its process
    died, or it was cancelled from elsewhere) is made from the response. Raises ConnectionError when the client is
    gone, and Failure ``store_failed``."""
    heard = time.monotonic()
    ended = looked = False
    while not ended:
        current = await store.response(row.id)
        final = current is None or current.status not in ("queued", "in_progress")
        frames: list[bytes] = []
        for number, data in await store.events(row.id, after):
            after = number
            kind = orjson.loads(data)["type"]
            frame = frame_of(kind, data)
            frames += (frame, ending(frame))
            ended = ended or kind in TERMINALS
            if len(frames) >= AT_ONCE:
                heard = time.monotonic()
                await send(sink, b"".join(frames))
                frames.clear()
                await asyncio.sleep(0)
        if final and not ended:
            end = await _kept_end(store, row.id)
            if end is None and looked:
                ended = True
                frames.append(_end(orjson.loads((current or row).data), after + 1))
            else:
                # A response is committed before its last events are kept: they are worth another look.
                ended, looked = end is not None and end <= after, True
        if frames:
            heard = time.monotonic()
        elif time.monotonic() - heard >= keepalive:
            heard = time.monotonic()
            filler = orjson.dumps({"type": "keepalive", "sequence_number": max(after, 0)})
            frames.append(frame_of("keepalive", filler))
        if frames or ended:
            await send(sink, b"".join(frames))
        if not ended:
            await asyncio.sleep(POLL)


async def _kept_end(store: Store, response_id: str) -> int | None:
    """The number of the terminal event, None when it was not kept."""
    kept = await store.events(response_id, -1)
    return kept[-1][0] if kept and orjson.loads(kept[-1][1])["type"] in TERMINALS else None


def _end(response: Json, number: int) -> bytes:
    """The terminal event of a response that is over; there is none for a cancelled one, so it counts as failed."""
    kind = f"response.{response['status']}"
    if kind not in TERMINALS:
        kind = "response.failed"
    frames = b""
    if number == 0:
        # No event was kept at all; clients want to see the beginning first.
        opened = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
        frames = _frame("response.created", number, opened)
        number += 1
    frame = _frame(kind, number, response)
    return frames + frame + ending(frame)


def _frame(kind: str, number: int, response: Json) -> bytes:
    return frame_of(kind, orjson.dumps({"type": kind, "sequence_number": number, "response": response}))
