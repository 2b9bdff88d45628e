"""A Messages request enters the hub: blocks become items, and every field is converted or noted.

Shapes: Anthropic's request types and what Claude Code 2.1.197 was recorded to send. The state stays with Responses
clients, so the hub request says ``store: false``.
"""

from __future__ import annotations

import hashlib
from typing import Any

from translators.chat.parts import Notes
from translators.events import Json, Note
from translators.failure import Failure
from translators.items import ENCRYPTED
from translators.messages.answer import shows_thinking
from translators.messages.hub_items import Items, system_text
from translators.messages.hub_tools import choice_to_hub, search_limit, tools_to_hub
from translators.messages.midway import settled

__all__ = ["to_hub", "validate"]

TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "a string"),
    "messages": ((list,), "an array of messages"),
    "system": ((str, list), "a string or an array of blocks"),
    "stream": ((bool,), "true or false"),
    "tools": ((list,), "an array of tools"),
    "tool_choice": ((dict,), "an object"),
    "thinking": ((dict,), "an object"),
    "output_config": ((dict,), "an object"),
    "output_format": ((dict,), "an object"),
    "stop_sequences": ((list,), "an array of strings"),
    "metadata": ((dict,), "an object"),
    "max_tokens": ((int,), "a number"),
}
"""Fields that are read here, with the JSON types this relies on; null counts as absent."""

SAME_NAME = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "stop_sequences": "stop"}
HANDLED = frozenset({*TYPES, *SAME_NAME})
LEFT_OUT: dict[str, str] = {
    "cache_control": "cache_control_left_out",
    "context_management": "context_management_left_out",
    "mcp_servers": "hosted_tool_left_out",
    "container": "hosted_tool_left_out",
    "service_tier": "messages_only_field_left_out",
    "speed": "messages_only_field_left_out",
    "inference_geo": "messages_only_field_left_out",
    "diagnostics": "messages_only_field_left_out",
    "thread": "thread_left_out",
}
NO_THREADS = "No threads are kept here: send the whole conversation, with its system text and its tools, instead."

BUDGETS: tuple[tuple[int, str], ...] = ((4096, "low"), (16384, "medium"))
"""``budget_tokens`` up to this many are that effort; more is high."""


def _invalid(param: str, message: str) -> Failure:
    return Failure("invalid_request_error", message, param=param)


def validate(body: Json) -> None:
    """Check the shape. Raises Failure ``invalid_request_error`` with ``param``; values are never quoted.

    Raises Failure ``thread_not_found`` for what continues a thread (beta ``message-threads-2026-08-12``): an upstream
    may keep one, but the next request may go to another. Clients send the whole then; SDK 2.14 does so by itself.
    """
    for name, (types, what) in TYPES.items():
        value = body.get(name)
        if value is not None and type(value) not in types:
            raise _invalid(name, f"{name} must be {what}.")
    if body.get("model") == "":
        raise _invalid("model", "model must not be empty.")
    if not body.get("messages"):
        raise _invalid("messages", "messages is missing: send an array with at least one message.")
    for name in ("messages", "tools"):
        for index, value in enumerate(body.get(name) or ()):
            if type(value) is not dict:
                raise _invalid(f"{name}[{index}]", f"{name}[{index}] must be an object.")
    thread = body.get("thread")
    if type(thread) is dict and thread.get("type") == "continue":
        raise Failure("thread_not_found", NO_THREADS, param="thread")


def to_hub(body: Json) -> tuple[Json, list[Note]]:
    """The hub request of a ``POST /v1/messages`` body, and notes on what it cannot hold. ``body`` is not changed.

    Raises Failure ``invalid_request_error`` with ``param``.
    """
    validate(body)
    body = settled(body)
    notes = Notes()
    hub: Json = {"model": body.get("model"), "stream": body.get("stream") is True, "store": False}
    for name, ours in SAME_NAME.items():
        if body.get(name) is not None:
            hub[ours] = body[name]
    if body.get("max_tokens") is not None:
        hub["max_output_tokens"] = body["max_tokens"]
    _reasoning(body, hub, notes)
    _output(_config(body), hub, notes)
    _metadata(body.get("metadata"), hub, notes)
    tools = tools_to_hub(body.get("tools") or [], notes)
    if tools:
        hub["tools"] = tools
    limit = search_limit(body.get("tools") or [])
    if limit is not None:
        hub["max_tool_calls"] = limit
    choice_to_hub(body.get("tool_choice"), hub, notes)
    for name, value in body.items():
        if value is not None and name not in HANDLED:
            notes.add(LEFT_OUT.get(name, "field_left_out"), name)
    system = system_text(body.get("system"), notes)
    if system:
        hub["instructions"] = system
    hub["input"] = Items(notes).convert(body["messages"])
    return hub, notes.all


def _reasoning(body: Json, hub: Json, notes: Notes) -> None:
    """Thinking as an effort: what the client names, else what its budget means."""
    thinking: Json = body.get("thinking") or {}
    effort: Any = (body.get("output_config") or {}).get("effort")
    reasoning: Json = {}
    if thinking.get("type") == "disabled":
        effort = "none"
    elif effort is None and thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        tokens = budget if isinstance(budget, int) else 0
        effort = next((name for limit, name in BUDGETS if tokens <= limit), "high")
    if effort is not None:
        reasoning["effort"] = effort
    if shows_thinking(body):
        hub["include"] = [ENCRYPTED]
        if thinking.get("display") != "omitted":
            reasoning["summary"] = "auto"
    if reasoning:
        hub["reasoning"] = reasoning
    for name in thinking.keys() - {"type", "budget_tokens", "display"}:
        notes.add("field_left_out", f"thinking.{name}")


def _config(body: Json) -> Json:
    """How the answer is to be. ``output_format`` is its format in SDKs of 2025 (``structured-outputs-2025-11-13``)."""
    older = {"format": body["output_format"]} if body.get("output_format") is not None else {}
    return {**older, **(body.get("output_config") or {})}


def _output(config: Json, hub: Json, notes: Notes) -> None:
    for name, value in config.items():
        if value is None or name == "effort":
            continue
        if name == "format" and isinstance(value, dict) and value.get("type") == "json_schema":
            hub["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": value.get("schema") or {}}}
        else:
            notes.add("field_left_out", f"output_config.{name}")


def _metadata(metadata: Json | None, hub: Json, notes: Notes) -> None:
    """Who the user is stays here; a fingerprint of it keeps a session on one prompt cache."""
    user = (metadata or {}).get("user_id")
    if isinstance(user, str) and user:
        hub["prompt_cache_key"] = hashlib.sha256(user.encode("utf-8", "replace")).hexdigest()[:32]
    if metadata:
        notes.add("metadata_stays_here", "metadata")
