"""Crossing: what a Chat or Messages client may say and a Responses upstream does not know.

Such things stand in the hub request for upstreams of other formats; a Responses upstream would refuse the request for
a field that it has no name for. A Responses client's own fields are never touched.
"""

from __future__ import annotations

from translators.events import Json, Note

__all__ = ["to_responses"]

CUT = "stop"
"""What the proxy does itself: it ends the text at a stop sequence."""
UNKNOWN = ("seed", "top_k", "frequency_penalty", "presence_penalty")
LEAST_OUTPUT = 16
"""OpenAI refuses a smaller ``max_output_tokens``; some clients ask for 1 to see whether a model answers."""


def to_responses(body: Json) -> tuple[Json, list[Note]]:
    """The request as a Responses upstream takes it; ``body`` is not changed."""
    notes = [Note("unknown_to_responses_left_out", name) for name in UNKNOWN if body.get(name) is not None]
    out = {key: value for key, value in body.items() if key not in (CUT, *UNKNOWN)}
    if body.get(CUT) is not None:
        notes.append(Note("stop_sequences_cut_here", CUT))
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < LEAST_OUTPUT:
        out["max_output_tokens"] = LEAST_OUTPUT
        notes.append(Note("max_output_tokens_raised", "max_output_tokens"))
    if isinstance(body.get("tools"), list):
        out["tools"] = [_searched(tool, f"tools[{n}]", notes) for n, tool in enumerate(body["tools"])]
    items = body.get("input")
    if isinstance(items, list):
        out["input"] = [_said(item) for item in items]
    return out, notes


def _searched(tool: Json, path: str, notes: list[Note]) -> Json:
    """A search without the domains that are never wanted: only the wanted ones have a name there."""
    filters = tool.get("filters")
    if not isinstance(filters, dict) or "blocked_domains" not in filters:
        return tool
    notes.append(Note("unknown_to_responses_left_out", f"{path}.filters.blocked_domains"))
    rest = {name: value for name, value in filters.items() if name != "blocked_domains"}
    bare = {name: value for name, value in tool.items() if name != "filters"}
    return {**bare, "filters": rest} if rest else bare


def _said(item: Json) -> Json:
    """What the assistant said stands as its own kind of text."""
    content = item.get("content")
    if item.get("role") != "assistant" or not isinstance(content, list):
        return item
    parts = [{**part, "type": "output_text"} if part.get("type") == "input_text" else part for part in content]
    return {**item, "content": parts}
