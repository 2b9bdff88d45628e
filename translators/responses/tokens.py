"""How many input tokens a request has, estimated: no tokenizer fits every model behind the proxy.

The text that a model sees counts as UTF-8 bytes / 4 (about right for English and code, too much for other scripts, so
that a threshold is rather reached early), each item and tool with a few tokens of framing, an image with 1,024. What
only travels with an item (ids, annotations, sealed reasoning) counts nothing.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json

__all__ = ["estimate", "of_items"]

BYTES_PER_TOKEN: Final = 4
FRAMING: Final = 4
"""Tokens per item or tool: role, separators, names of fields."""
MEDIA: Final = 1024
"""Tokens of an image or a file, whatever its size."""
MEDIA_TYPES: Final = frozenset({"input_image", "input_file", "input_audio", "computer_screenshot"})
UNSEEN: Final = frozenset({"id", "type", "role", "status", "call_id", "phase", "annotations", "logprobs", "detail"})
UNSEEN_OF_REASONING: Final = UNSEEN | {"encrypted_content"}
SETTINGS: Final = ("instructions", "text")
"""Fields beside input and tools whose text reaches the model."""


def estimate(body: Json) -> int:
    """Input tokens of a request with its whole history: input, instructions, tools and the answer's format."""
    given = body.get("input")
    total = of_items(given) if isinstance(given, list) else _framed(_size(given, UNSEEN)) if given else 0
    for name in SETTINGS:
        if body.get(name):
            total += _framed(_size(body[name], UNSEEN))
    tools = body.get("tools")
    if isinstance(tools, list):
        total += sum(_framed(_size(tool, frozenset())) for tool in tools)
    return total


def of_items(items: list[Any]) -> int:
    """Input tokens of items alone."""
    total = 0
    for item in items:
        reasoning = isinstance(item, dict) and item.get("type") == "reasoning"
        total += _framed(_size(item, UNSEEN_OF_REASONING if reasoning else UNSEEN))
    return total


def is_media(value: Json) -> bool:
    """Whether this is a picture or a file. A tool's schema may well describe an argument of the name ``type``."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in MEDIA_TYPES


def _framed(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN) + FRAMING


def _size(value: Any, unseen: frozenset[str]) -> int:
    """Bytes of text in a JSON value; keys count only where all of them do (tools: their schema is shown as it is)."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return sum(_size(each, unseen) for each in value)
    if isinstance(value, dict):
        if is_media(value):
            return MEDIA * BYTES_PER_TOKEN
        shown = sum(_size(each, unseen) for name, each in value.items() if name not in unseen)
        return shown if unseen else shown + sum(len(name) + 4 for name in value)
    return 0 if value is None else 4
