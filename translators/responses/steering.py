"""Steering: a WebSocket client adds to the input of a response that runs.

Wire facts (the types of openai 3.57): ``response.steer`` has ``previous_response_id`` and ``input`` and no
``stream_id``; a server that does not support it answers ``response.steer.failed`` with ``steering_not_supported`` and
the input, which the client may then send with its next ``response.create``.
"""

from __future__ import annotations

from typing import Final

import orjson

from translators.events import Json
from translators.surrogates import clean_tree

__all__ = ["FAILED", "STEER", "steer_failed"]

STEER: Final = "response.steer"
FAILED: Final = "response.steer.failed"
TEXT: Final = "This proxy cannot add to a response that runs. Send the input with the next response.create."


def steer_failed(message: Json, stream_id: str | None) -> bytes:
    """The JSON of the event that answers a ``response.steer``; ``stream_id`` is the lane of the response that it names,
    if that runs. It belongs to no response, so its number says nothing."""
    target = message.get("previous_response_id")
    event: Json = {
        "type": FAILED,
        "sequence_number": 0,
        "error": {"type": "invalid_request_error", "code": "steering_not_supported", "message": TEXT},
        "steer": {
            "previous_response_id": target if isinstance(target, str) else "",
            "input": message.get("input") or [],
        },
    }
    if stream_id is not None:
        event["stream_id"] = stream_id
    return orjson.dumps(clean_tree(event))
