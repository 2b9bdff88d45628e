"""A Chat Completions request enters the hub: messages become items, and every field is converted or noted.

Shapes: OpenAI's request types; marked below, what other clients are publicly known to send (``reasoning_content``,
``reasoning``). The state stays with Responses clients, so the hub request says ``store: false``.
"""

from __future__ import annotations

from typing import Any

from translators.chat.hub_items import Items
from translators.chat.hub_tools import choice_to_hub, tools_to_hub
from translators.chat.parts import Notes
from translators.events import Json, Note
from translators.failure import Failure

__all__ = ["to_hub"]

TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "a string"),
    "messages": ((list,), "an array of messages"),
    "stream": ((bool,), "true or false"),
    "stream_options": ((dict,), "an object"),
    "tools": ((list,), "an array of tools"),
    "functions": ((list,), "an array of functions"),
    "tool_choice": ((str, dict), "a string or an object"),
    "function_call": ((str, dict), "a string or an object"),
    "response_format": ((dict,), "an object"),
    "n": ((int,), "a number"),
    "max_tokens": ((int,), "a number"),
    "max_completion_tokens": ((int,), "a number"),
    "parallel_tool_calls": ((bool,), "true or false"),
    "web_search_options": ((dict,), "an object"),
}
"""Fields that are read here, with the JSON types this relies on; null counts as absent."""

SAME_NAME = (
    *("temperature", "top_p", "frequency_penalty", "presence_penalty", "stop", "seed", "user", "safety_identifier"),
    *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier", "metadata"),
    *("parallel_tool_calls",),
)
"""Fields that the hub request carries as they are; the upstream's request translator decides about each."""

SWITCHES: tuple[tuple[str, str, Any], ...] = (
    ("reasoning", "enabled", False),
    ("thinking", "type", "disabled"),
    ("enable_thinking", "", False),
    ("chat_template_kwargs", "enable_thinking", False),
)
"""How thinking is switched off by clients of OpenRouter; DeepSeek, GLM and Kimi; Qwen; vLLM: the field, what is in it,
and its value."""

HANDLED = frozenset(
    {
        *SAME_NAME,
        *("model", "messages", "stream", "stream_options", "tools", "functions", "tool_choice", "function_call"),
        *("response_format", "n", "max_tokens", "max_completion_tokens", "reasoning_effort", "verbosity"),
        *(field for field, _, _ in SWITCHES),
        *("store", "logprobs", "top_logprobs", "modalities", "web_search_options"),
    }
)

LEFT_OUT: dict[str, str] = {
    "audio": "audio_left_out",
    "prediction": "chat_only_field_left_out",
    "logit_bias": "chat_only_field_left_out",
    "moderation": "chat_only_field_left_out",
}


def _invalid(param: str, message: str) -> Failure:
    return Failure("invalid_request_error", message, param=param)


def _check(body: Json) -> None:
    for name, (types, what) in TYPES.items():
        value = body.get(name)
        if value is not None and type(value) not in types:
            raise _invalid(name, f"{name} must be {what}.")
    if body.get("model") == "":
        raise _invalid("model", "model must not be empty.")
    messages = body.get("messages")
    if not messages:
        raise _invalid("messages", "messages is missing: send an array with at least one message.")
    for index, message in enumerate(messages):
        if type(message) is not dict:
            raise _invalid(f"messages[{index}]", f"messages[{index}] must be an object.")
    for name in ("tools", "functions"):
        for index, tool in enumerate(body.get(name) or ()):
            if type(tool) is not dict:
                raise _invalid(f"{name}[{index}]", f"{name}[{index}] must be an object.")
    if (body.get("n") or 1) != 1 and (body.get("tools") or body.get("functions")):
        raise _invalid("n", "n must be 1 beside tools: the calls of one choice are judged and released together.")


def to_hub(body: Json) -> tuple[Json, list[Note]]:
    """The hub request of a ``POST /v1/chat/completions`` body, and notes on what it cannot hold.

    Raises Failure ``invalid_request_error`` with ``param``; messages name fields and never quote values. ``body`` is
    not changed.
    """
    _check(body)
    notes = Notes()
    hub: Json = {"model": body.get("model"), "stream": body.get("stream") is True, "store": False}
    for name in SAME_NAME:
        if body.get(name) is not None:
            hub[name] = body[name]
    if (body.get("n") or 1) != 1:
        hub["n"] = body["n"]
    limit = body.get("max_completion_tokens")
    limit = limit if limit is not None else body.get("max_tokens")
    if limit is not None:
        hub["max_output_tokens"] = limit
    _reasoning(body, hub, notes)
    _text(body, hub, notes)
    tools = tools_to_hub(body, notes)
    if tools:
        hub["tools"] = tools
    choice = choice_to_hub(body, notes)
    if choice is not None:
        hub["tool_choice"] = choice
    if body.get("functions") and not body.get("tools"):
        hub["parallel_tool_calls"] = False  # the old form has no place for a second call
    _noted(body, notes)
    hub["input"] = Items(notes).convert(body["messages"])
    return hub, notes.all


def _reasoning(body: Json, hub: Json, notes: Notes) -> None:
    """OpenAI's flat field, or the object of OpenRouter's clients; thinking that is switched off is an effort too."""
    effort: Any = body.get("reasoning_effort")
    given = body.get("reasoning")
    if isinstance(given, dict) and effort is None:
        effort = given.get("effort")
    for field, name, off in SWITCHES:
        switch = body.get(field)
        held = switch if isinstance(switch, dict) else {} if name or switch is None else {"": switch}
        if held.get(name) == off and type(held.get(name)) is type(off):
            effort = "none" if effort is None else effort
            held = {key: value for key, value in held.items() if key != name}
        for left in held.keys() - ({"effort"} if field == "reasoning" else frozenset()):
            notes.add("reasoning_option_left_out", f"{field}.{left}".rstrip("."))
        if switch is not None and name and not isinstance(switch, dict):
            notes.add("field_left_out", field)
    if effort is not None:
        hub["reasoning"] = {"effort": effort}


def _text(body: Json, hub: Json, notes: Notes) -> None:
    text: Json = {}
    given = body.get("response_format")
    if given is not None:
        inner = given.get("json_schema")
        if given.get("type") == "json_schema" and isinstance(inner, dict):
            text["format"] = {"type": "json_schema", **{key: value for key, value in inner.items() if key != "type"}}
        elif given.get("type") in ("text", "json_object"):
            text["format"] = {"type": given["type"]}
        else:
            notes.add("text_format_left_out", "response_format")
    if body.get("verbosity") is not None:
        text["verbosity"] = body["verbosity"]
    if text:
        hub["text"] = text


def _noted(body: Json, notes: Notes) -> None:
    for name, value in body.items():
        if value is not None and name not in HANDLED:
            notes.add(LEFT_OUT.get(name, "field_left_out"), name)
    if body.get("store"):
        notes.add("state_stays_with_responses", "store")
    if body.get("logprobs") or body.get("top_logprobs"):
        notes.add("logprobs_left_out", "logprobs")
    if body.get("modalities") not in (None, ["text"]):
        notes.add("audio_left_out", "modalities")
    for name in (body.get("stream_options") or {}).keys() - {"include_usage"}:
        notes.add("stream_option_left_out", f"stream_options.{name}")
