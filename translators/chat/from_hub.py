"""Request translator: a hub request as a Chat Completions body.

The tools of the hub request are plain functions already. Every field is either in the body or in a note. The order of
keys is fixed and ``messages`` comes last, so that the next turn's body begins with this turn's bytes.
"""

from __future__ import annotations

from typing import Any

import orjson

from translators.chat.messages import MessageBuilder
from translators.chat.parts import Notes
from translators.dialects.base import Dialect
from translators.events import Json, Note
from translators.surrogates import clean_tree

__all__ = ["build"]

SAME_NAME = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "stop", "seed", "user")
"""Fields that mean the same in both formats."""
MOST_STOPS = 4
"""More stop sequences OpenAI's API reference does not allow."""

HANDLED = frozenset(
    {
        *SAME_NAME,
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"),
        *("max_output_tokens", "reasoning", "text", "prompt_cache_key"),
    }
)

LEFT_OUT: dict[str, str] = {
    "store": "state_stays_here",
    "previous_response_id": "state_stays_here",
    "conversation": "state_stays_here",
    "background": "state_stays_here",
    "background_options": "state_stays_here",
    "generate": "state_stays_here",
    "stream_id": "state_stays_here",
    "type": "state_stays_here",
    "context_management": "state_stays_here",
    "max_tool_calls": "state_stays_here",
    "metadata": "metadata_stays_here",
    "client_metadata": "metadata_stays_here",
    "safety_identifier": "metadata_stays_here",
    "include": "responses_only_field_left_out",
    "top_logprobs": "logprobs_left_out",  # what comes of it would not arrive: the hub's texts have none
    "truncation": "responses_only_field_left_out",
    "prompt": "responses_only_field_left_out",
    "service_tier": "responses_only_field_left_out",
    "prompt_cache_options": "responses_only_field_left_out",
    "prompt_cache_retention": "responses_only_field_left_out",
    "moderation": "responses_only_field_left_out",
    "access_programs": "responses_only_field_left_out",
    "image": "responses_only_field_left_out",
}
"""Known Responses fields without a place in a Chat body, and the rule that leaves each out."""

JSON_ONLY = "Answer with one JSON object and nothing else."
TOOLS_FIRST = "Call your tools first, as you need them. "

TOOL_FIELDS = frozenset({"type", "name", "description", "parameters", "strict"})


def build(body: Json, model: str, dialect: Dialect) -> tuple[Json, list[Note]]:
    """The Chat body for a hub request, for the upstream's ``model``, and notes on what was left out or changed.

    ``body`` is not modified, but parts of it may be shared with the result. A field that is null counts as not sent.
    """
    notes = Notes()
    head: Json = {"model": model, "stream": True, **dialect.extra}
    if dialect.stream_usage:
        head["stream_options"] = {"include_usage": True}
    _stream_options(body.get("stream_options"), dialect, notes)
    _parameters(body, dialect, head, notes)
    _tools(body, dialect, head, notes)
    if "tools" in head and not dialect.reasoning_beside_tools and "reasoning.effort" not in dialect.refused:
        # Without a word about it the model thinks, which is refused as well.
        head.update(_effort("none", dialect) if dialect.reasoning != "none" else {})
        notes.add("reasoning_left_out_beside_tools", "reasoning.effort")
    for name, value in body.items():
        if value is not None and name not in HANDLED:
            notes.add(LEFT_OUT.get(name, "field_left_out"), name)
    try:
        orjson.dumps(head)
    except TypeError:  # a lone surrogate somewhere; texts of messages are cleaned as they are made
        head = clean_tree(head)
    told = _told(body.get("text"), dialect, head, notes)
    head["messages"] = MessageBuilder(dialect, notes).build(body.get("instructions"), body.get("input"), told)
    return head, notes.all


def _stream_options(options: object, dialect: Dialect, notes: Notes) -> None:
    if not isinstance(options, dict):
        return
    for name in options:
        if name != "include_usage" or not dialect.stream_usage:
            notes.add("stream_option_left_out", f"stream_options.{name}")


def _parameters(body: Json, dialect: Dialect, head: Json, notes: Notes) -> None:
    if body.get("max_output_tokens") is not None:
        head[dialect.max_tokens_field] = body["max_output_tokens"]
    for name in SAME_NAME:
        if body.get(name) is not None:
            head[name] = body[name]
    if isinstance(body.get("stop"), list) and len(body["stop"]) > MOST_STOPS:
        head["stop"] = body["stop"][:MOST_STOPS]
        notes.add("stop_sequences_cut_here", "stop")
    _reasoning(body.get("reasoning"), dialect, head, notes)
    _text(body.get("text"), dialect, head, notes)
    if body.get("prompt_cache_key") is not None:
        if dialect.cache_key_field:
            head[dialect.cache_key_field] = body["prompt_cache_key"]
        else:
            notes.add("prompt_cache_key_left_out", "prompt_cache_key")


def _reasoning(reasoning: object, dialect: Dialect, head: Json, notes: Notes) -> None:
    if reasoning is None:
        return
    if not isinstance(reasoning, dict):
        notes.add("field_left_out", "reasoning")
        return
    for name, value in reasoning.items():
        if value is None:
            continue
        if name == "effort" and dialect.reasoning != "none":
            head.update(_effort(value, dialect))
        else:
            notes.add("reasoning_option_left_out", f"reasoning.{name}")


def _effort(effort: Any, dialect: Dialect) -> Json:
    """The fields that ask for this much reasoning."""
    on = effort != "none" or not dialect.thinking_off
    if dialect.reasoning == "effort":
        return {"reasoning_effort": effort}
    if dialect.reasoning == "object":
        return {"reasoning": {"effort": effort}}
    if dialect.reasoning == "enable_thinking":
        return {"enable_thinking": on}
    thinking: Json = {"thinking": {"type": dialect.thinking_on if on else "disabled"}}
    if dialect.reasoning == "thinking_effort" and on and effort != "none":
        thinking["reasoning_effort"] = effort
    return thinking


def _text(text: object, dialect: Dialect, head: Json, notes: Notes) -> None:
    if text is None:
        return
    if not isinstance(text, dict):
        notes.add("field_left_out", "text")
        return
    for name, value in text.items():
        if value is None:
            continue
        if name == "format":
            _format(value, dialect, head, notes)
        else:
            notes.add("verbosity_left_out" if name == "verbosity" else "text_option_left_out", f"text.{name}")


def _format(given: object, dialect: Dialect, head: Json, notes: Notes) -> None:
    """Flat in Responses, nested under ``json_schema`` in Chat."""
    kind = given.get("type") if isinstance(given, dict) else None
    if not isinstance(given, dict) or kind not in ("text", "json_object", "json_schema"):
        notes.add("text_format_left_out", "text.format")
    elif kind == "text":
        notes.add("default_left_out", "text.format")
    elif kind == "json_object":
        head["response_format"] = {"type": "json_object"}
    elif not dialect.json_schema:
        head["response_format"] = {"type": "json_object"}
        notes.add("json_schema_told_in_words", "text.format")
    else:
        schema = {name: value for name, value in given.items() if name != "type" and value is not None}
        head["response_format"] = {"type": "json_schema", "json_schema": schema}


def _told(text: object, dialect: Dialect, head: Json, notes: Notes) -> str:
    """What a host that does not take the format is told instead; also, some want the word JSON in the prompt."""
    beside = dialect.json_beside_tools or "tools" not in head
    given = text.get("format") if isinstance(text, dict) else None
    if "response_format" not in head or not isinstance(given, dict) or (dialect.json_schema and beside):
        return ""
    if not (dialect.json_format and beside):
        del head["response_format"]
        notes.add("json_schema_told_in_words", "text.format")
    elif given["type"] == "json_object":
        return ""
    schema = given.get("schema")
    fitting = f" It must fit this JSON schema: {orjson.dumps(clean_tree(schema)).decode()}"
    first = "" if beside else TOOLS_FIRST
    return first + JSON_ONLY + (fitting if isinstance(schema, dict) else "")


def _tools(body: Json, dialect: Dialect, head: Json, notes: Notes) -> None:
    """Tools, and what only has a meaning beside tools: hosts refuse a tool_choice without any."""
    choice = body.get("tool_choice")
    tools = _functions(body.get("tools"), notes)
    parallel = body.get("parallel_tool_calls")
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        tools, choice = _allowed(tools, choice, notes)
    if parallel is not None:
        if tools and dialect.parallel_tool_calls:
            head["parallel_tool_calls"] = parallel
        else:
            notes.add("parallel_tool_calls_left_out", "parallel_tool_calls")
    if tools:
        head["tools"] = tools
    if choice is None:
        return
    converted = _choice(choice) if tools else None
    if converted is None:
        notes.add("tool_choice_left_out", "tool_choice")
    else:
        head["tool_choice"] = converted


def _functions(tools: object, notes: Notes) -> list[Json]:
    functions: list[Json] = []
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("name"), str):
            notes.add("tool_left_out", f"tools[{index}]")
            continue
        for name in tool.keys() - TOOL_FIELDS:
            notes.once("tool_field_left_out", f"tools[].{name}")
        function: Json = {"name": tool["name"]}
        if tool.get("description") is not None:
            function["description"] = tool["description"]
        parameters = tool.get("parameters")
        function["parameters"] = parameters if isinstance(parameters, dict) and parameters else _no_parameters()
        if tool.get("strict") is not None:
            function["strict"] = tool["strict"]
        functions.append({"type": "function", "function": function})
    return functions


def _no_parameters() -> Json:
    """Some hosts refuse a function without a parameters object."""
    return {"type": "object", "properties": {}}


def _choice(choice: Any) -> Any:
    """``auto | none | required`` or one tool by name; None for choices that name no function."""
    if isinstance(choice, str):
        return choice if choice in ("auto", "none", "required") else None
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom") and choice.get("name"):
        return {"type": "function", "function": {"name": choice["name"]}}
    return None


def _allowed(tools: list[Json], choice: Json, notes: Notes) -> tuple[list[Json], str]:
    """Few hosts know ``allowed_tools``; sending only those tools means the same."""
    allowed = choice.get("tools")
    names = [each.get("name") for each in allowed if isinstance(each, dict)] if isinstance(allowed, list) else []
    kept = [tool for tool in tools if tool["function"]["name"] in names]
    if len(kept) < len(tools):
        notes.add("tools_narrowed_to_allowed", "tools")
    return kept, "required" if choice.get("mode") == "required" else "auto"
