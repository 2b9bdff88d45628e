"""The good streams that the fault matrix breaks: frames of one text and of one call, for each upstream wire."""

from __future__ import annotations

from support.messages_stream import messages_frames
from support.raw_upstream import LAST, OK, Script, Seen, Step, chunk
from support.turns import Call, Json, Say
from support.wires import chat_frames, responses_frames

REQUEST: Json = {"model": "m", "stream_options": {"include_usage": True}}
FRAMES = {"responses": responses_frames, "chat": chat_frames, "messages": messages_frames}
TEXT = {wire: list(frames(REQUEST, (Say("partial text"),), None)) for wire, frames in FRAMES.items()}
CALL = {wire: list(frames(REQUEST, (Call("run", {"x": 1}),), None)) for wire, frames in FRAMES.items()}
LIFECYCLE, WORDS, ARGUMENTS = Seen(b"response.in_progress"), Seen(b"partial text"), Seen(b"arguments.delta")


def _cut(frames: list[bytes], marker: bytes) -> bytes:
    """The stream up to and including the last frame that holds ``marker``."""
    last = max(number for number, frame in enumerate(frames) if marker in frame)
    return b"".join(frames[: last + 1])


CREATED = {"responses": b"".join(TEXT["responses"][:2]), "chat": TEXT["chat"][0], "messages": TEXT["messages"][0]}
IN_TEXT = {
    "responses": _cut(TEXT["responses"], b"text.delta"),
    "chat": _cut(TEXT["chat"], b"partial text"),
    "messages": _cut(TEXT["messages"], b"text_delta"),
}
ARGUMENTS_DONE = {
    "responses": _cut(CALL["responses"], b"arguments.done"),
    "chat": _cut(CALL["chat"], b'"arguments": "{'),
    "messages": _cut(CALL["messages"], b"input_json_delta"),
}
ITEM_DONE = {
    "responses": _cut(CALL["responses"], b"item.done"),
    "chat": _cut(CALL["chat"], b'"finish_reason": "tool'),
    "messages": _cut(CALL["messages"], b"content_block_stop"),
}
ALL_BUT_TERMINAL = {
    "responses": _cut(TEXT["responses"], b"item.done"),
    "chat": _cut(TEXT["chat"], b"partial text"),
    "messages": _cut(TEXT["messages"], b"content_block_stop"),
}
WHOLE = {wire: b"".join(frames) for wire, frames in TEXT.items()}
TERMINAL = {
    "responses": TEXT["responses"][-1],
    "chat": b"".join(TEXT["chat"][-3:]),
    "messages": b"".join(TEXT["messages"][-2:]),
}


def stream(start: bytes, *then: Step) -> Script:
    """A chunked 200 stream that begins with these bytes."""
    return (OK, chunk(start), *then)


def whole(data: bytes) -> Script:
    """A complete 200 stream."""
    return stream(data, LAST)
