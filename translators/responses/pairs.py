"""Calls and their outputs in a continued history: each call answered, no answer without its call.

OpenAI refuses both with a 400 that names the call (public issue threads); a history that a client sends whole is its
own business and is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from translators.events import Json
from translators.failure import Failure

OUTPUT_OF: dict[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""Calls that a client answers, and the item it answers with."""

_ANSWERS = frozenset(OUTPUT_OF.values())


def check_pairs(items: Sequence[Json]) -> None:
    """Raises Failure ``invalid_request_error`` (param ``input``) for the first call without an output, else for the
    first output without a call. Server-side tool searches answer themselves and are passed over; an asynchronous call
    may be answered whenever its result is there (OpenAI's guide to async tool calling)."""
    asked: dict[str, bool] = {}
    answered: set[str] = set()
    for item in items:
        kind, call_id = item.get("type"), item.get("call_id")
        if not isinstance(call_id, str) or item.get("execution") == "server":
            continue
        if kind in OUTPUT_OF:
            asked[call_id] = item.get("async") is not True
        elif kind in _ANSWERS:
            if call_id not in asked:
                text = f"No tool call found for function call output with call_id {call_id[:80]}."
                raise Failure("invalid_request_error", text, param="input")
            answered.add(call_id)
    for call_id, at_once in asked.items():
        if at_once and call_id not in answered:
            text = f"No tool output found for function call {call_id[:80]}."
            raise Failure("invalid_request_error", text, param="input")
