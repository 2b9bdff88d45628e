"""A message put together from its events, for a client that asked for no stream on a same-format route: blocks stay as
the upstream made them, signatures and kinds that nobody here knows included.

Wire facts (public documentation of the stream): a block is its start with its deltas appended, the input of a call is
JSON in pieces, counts of ``message_delta`` are cumulative.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json
from translators.messages.hub_parts import kind_of
from translators.messages.usage import from_hub
from translators.surrogates import clean, loads

__all__ = ["Gathered"]

PIECES: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}
"""Type of a delta -> its own field, and the field of the block that its pieces make."""


class Gathered:
    """``identity`` and ``model`` are for a message whose beginning never came."""

    def __init__(self, identity: str, model: Any) -> None:
        self._message: Json = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": from_hub(None),
        }
        self._blocks: dict[int, Json] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._ended: list[int] = []

    @property
    def message(self) -> Json:
        """What the events so far say, without blocks that have not ended. It has a reason, which some upstreams leave
        out and clients miss."""
        content = [self._blocks[index] for index in sorted(self._ended)]
        called = any(kind_of(block) == "tool_use" for block in content)
        reason = self._message["stop_reason"] or ("tool_use" if called else "end_turn")
        return {**self._message, "content": content, "stop_reason": reason}

    def add(self, kind: str, body: Json) -> None:
        """One event; what has another shape than it should have is passed over."""
        place = body.get("index")
        index = place if isinstance(place, int) else 0
        match kind:
            case "message_start":
                self._message |= _object(body.get("message"))
            case "content_block_start":
                self._blocks[index] = _object(body.get("content_block"))
            case "content_block_delta" if index in self._blocks and index not in self._ended:
                self._delta(index, _object(body.get("delta")))
            case "content_block_stop" if index in self._blocks and index not in self._ended:
                self._stop(index)
            case "message_delta":
                told = {name: value for name, value in _object(body.get("usage")).items() if value is not None}
                usage = {**_object(self._message.get("usage")), **told}
                self._message |= {**_object(body.get("delta")), "usage": usage}
            case _:
                pass

    def _delta(self, index: int, delta: Json) -> None:
        block, kind = self._blocks[index], kind_of(delta)
        if kind in PIECES:
            own, name = PIECES[kind]
            self._pieces.setdefault(index, {}).setdefault(name, []).append(_word(delta.get(own)))
        elif kind == "citations_delta":
            cited = block.get("citations")
            block["citations"] = [*(cited if isinstance(cited, list) else ()), delta.get("citation")]
        else:
            block |= {name: value for name, value in delta.items() if name != "type"}

    def _stop(self, index: int) -> None:
        block = self._blocks[index]
        for name, pieces in self._pieces.pop(index, {}).items():
            text = "".join(pieces)
            if name != "input":
                block[name] = _word(block.get(name)) + text
            elif text:
                try:
                    block[name] = loads(clean(text).encode())
                except ValueError:
                    return  # a call that was cut off; it is judged elsewhere
        self._ended.append(index)


def _object(value: Any) -> Json:
    return dict(value) if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
