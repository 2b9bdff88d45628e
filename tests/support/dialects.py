"""A request as a dialect's provider gets it: the whole way from a client's request to the upstream's body."""

from __future__ import annotations

from typing import Any

from translators.dialects.adapt import adapt
from translators.dialects.table import DIALECTS
from translators.registry import UPSTREAMS
from translators.tools.functions import to_functions

Json = dict[str, Any]
TOOL: Json = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
PICTURE: Json = {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}
SUMMARY: Json = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]}


def user(text: str = "hi") -> Json:
    """A user's message."""
    return {"type": "message", "role": "user", "content": text}


def upstream_body(kind: str, model: str, wire: str = "chat", **request: Any) -> Json:
    """The body that a provider of this type gets for a request about ``model``."""
    dialect = DIALECTS[kind](model)
    body, tools, _ = to_functions({"input": [user()], **request}, hosted=dialect.hosted_tools)
    body, _ = adapt(body, dialect, tools)
    return UPSTREAMS[wire].build(body, model, dialect)[0]


def without(body: Json, *names: str) -> Json:
    """The body without fields that a test does not speak of."""
    return {key: value for key, value in body.items() if key not in ("model", "stream", "stream_options", *names)}
