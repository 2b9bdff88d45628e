"""Request translator: a hub request as a Messages body.

The tools of the hub request are plain functions already. Every field is either in the body or in a note. The order of
keys is fixed and ``messages`` comes last, so that the next turn's body begins with this turn's bytes; what may be
cached is marked behind the tools and the system text, and by the automatic mark on the last block (``dialect.extra``).
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from translators.chat.from_hub import LEFT_OUT
from translators.chat.parts import Notes
from translators.dialects.base import Dialect
from translators.events import Json, Note
from translators.messages.answer_schema import answer_schema
from translators.messages.parts import says
from translators.messages.turns import Turns
from translators.surrogates import clean_tree

__all__ = ["build"]

MAX_TOKENS: Final = 32_000
"""The field is required; a client of another format may not have named any."""
LEAST_BUDGET: Final = 1024
BUDGETS: dict[str, int] = {
    "minimal": 1024,
    "low": 4096,
    "medium": 10_240,
    "high": 24_576,
    "xhigh": 31_999,
    "max": 31_999,
}
"""``budget_tokens`` for an effort, on models that know no effort."""
SAME_NAME = ("temperature", "top_p", "top_k")
HANDLED = frozenset(
    {
        *SAME_NAME,
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"),
        *("max_output_tokens", "reasoning", "text", "stop"),
    }
)
THOUGHTS = ("thinking", "redacted_thinking")
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
CACHED: Json = {"cache_control": {"type": "ephemeral"}}
TOOL_FIELDS = frozenset({"type", "name", "description", "parameters", "strict"})


def build(body: Json, model: str, dialect: Dialect) -> tuple[Json, list[Note]]:
    """The Messages body for a hub request, for the upstream's ``model``, and notes on what was left out or changed.

    ``body`` is not modified, but parts of it may be shared with the result. A field that is null counts as not sent.
    """
    notes = Notes()
    limit = body.get("max_output_tokens") or dialect.max_tokens_limit or MAX_TOKENS
    head: Json = {"model": model, "max_tokens": limit, "stream": True, **dialect.extra}
    turns = Turns(notes, later_system=dialect.later_system, text_results=dialect.text_results)
    system, messages = turns.build(body.get("instructions"), body.get("input"))
    _sampling(body, head, notes)
    _reasoning(body, messages, dialect, head, notes)
    told = _text(body.get("text"), dialect, head, notes)
    _tools(body, head, notes)
    for name, value in body.items():
        if value is not None and name not in HANDLED:
            notes.add(LEFT_OUT.get(name, "field_left_out"), name)
    system = [text for text in (*system, told) if says(text)]
    if system:
        blocks: list[Json] = [{"type": "text", "text": text} for text in system]
        blocks[-1] |= CACHED
        head["system"] = blocks
    if "thinking" in head:
        _beside_thinking(head, notes)
    try:
        orjson.dumps(head)
    except TypeError:  # a lone surrogate somewhere; texts of messages are cleaned as they are made
        head = clean_tree(head)
    head["messages"] = messages
    return head, notes.all


def _sampling(body: Json, head: Json, notes: Notes) -> None:
    for name in SAME_NAME:
        if body.get(name) is not None:
            head[name] = body[name]
    stop = body.get("stop")
    stops = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    taken = [each for each in stops if not isinstance(each, str) or each.strip()]
    if len(taken) < len(stops):
        # "each stop sequence must contain non-whitespace", says this API.
        notes.add("stop_sequences_cut_here", "stop")
    if taken:
        head["stop_sequences"] = taken


def _reasoning(body: Json, messages: list[Json], dialect: Dialect, head: Json, notes: Notes) -> None:
    given = body.get("reasoning")
    reasoning: Json = given if isinstance(given, dict) else {}
    summarized = {"display": "summarized"} if reasoning.get("summary") is not None else {}
    if dialect.thoughts_required and not all(map(_thinks, messages)):
        # "The content[].thinking in the thinking mode must be passed back" (DeepSeek), and there is none.
        head["thinking"] = {"type": "disabled"}
        notes.add("thinking_left_out", "reasoning.effort")
        return
    for name, value in reasoning.items():
        if value is not None and name not in ("effort", "summary"):
            notes.add("reasoning_option_left_out", f"reasoning.{name}")
    effort = reasoning.get("effort")
    if not isinstance(effort, str):
        # Who wants to see thoughts wants the model to think, as much as it likes: OpenAI's models do so by themselves.
        if summarized and dialect.thinking_on == "adaptive" and _may_think(body):
            head["thinking"] = {"type": "adaptive", **summarized}
        elif summarized:
            notes.add("reasoning_option_left_out", "reasoning.summary")
        return
    if effort == "none" and dialect.thinking_off:
        head["thinking"] = {"type": "disabled"}
    elif effort == "none":
        notes.add("effort_left_out", "reasoning.effort")
    elif dialect.thinking_on == "adaptive":
        head["thinking"] = {"type": "adaptive", **summarized}
        head["output_config"] = {"effort": "low" if effort == "minimal" else effort}
    else:
        _budget(effort, messages, dialect, head, notes)


def _may_think(body: Json) -> bool:
    """Whether nothing in the request excludes thinking."""
    forced = body.get("tool_choice") not in (None, "auto", "none")
    return not forced and all(body.get(name) is None for name in SAME_NAME)


def _budget(effort: str, messages: list[Json], dialect: Dialect, head: Json, notes: Notes) -> None:
    """A budget below ``max_tokens``. In the middle of a tool loop such a model refuses to think when the thoughts from
    which the loop began are missing."""
    budget = min(BUDGETS.get(effort, BUDGETS["medium"]), head["max_tokens"] - 1)
    budget = budget if dialect.thinking_limit is None else min(budget, dialect.thinking_limit)
    if budget < LEAST_BUDGET or _thoughtless(messages):
        notes.add("thinking_left_out", "reasoning.effort")
    else:
        head["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _thinks(message: Json) -> bool:
    """Whether a message brings its thoughts, if it must."""
    return message["role"] != "assistant" or any(block["type"] in THOUGHTS for block in message["content"])


def _thoughtless(messages: list[Json]) -> bool:
    """Whether this turn of the assistant, with all its calls since the user's last words, began without a thought.

    Only its beginning counts: behind a result these models often call again without thinking, and a turn that began
    with thinking is refused without ("When thinking is disabled, an assistant message cannot contain thinking",
    BerriAI/litellm#18929).
    """
    first = None
    for message in reversed(messages):
        blocks = message["content"]
        if message["role"] == "assistant":
            first = blocks[0]["type"]
        elif message["role"] == "user" and not any(block["type"] == "tool_result" for block in blocks):
            break
    return first is not None and first not in THOUGHTS


def _beside_thinking(head: Json, notes: Notes) -> None:
    """With thinking on, sampling is fixed and no tool can be forced."""
    if head["thinking"]["type"] == "disabled":
        return
    for name in SAME_NAME:
        if head.pop(name, None) is not None:
            notes.add("sampling_left_out_beside_thinking", name)
    choice = head.get("tool_choice")
    if choice is not None and choice["type"] in ("any", "tool"):
        head["tool_choice"] = {**choice, "type": "auto"}
        head["tool_choice"].pop("name", None)
        notes.add("tool_choice_left_out", "tool_choice")


def _text(text: Any, dialect: Dialect, head: Json, notes: Notes) -> str:
    """The answer's format; what the model has to be told in words, or an empty string."""
    told = ""
    for name, value in (text if isinstance(text, dict) else {}).items():
        kind = value.get("type") if isinstance(value, dict) else None
        if value is None or (name == "format" and kind == "text"):
            continue
        schema = answer_schema(value.get("schema")) if kind == "json_schema" and dialect.json_schema else None
        if name == "format" and schema is not None:
            config = head.setdefault("output_config", {})
            config["format"] = {"type": "json_schema", "schema": schema}
            if schema != value["schema"]:
                notes.add("schema_adapted", "text.format.schema")
            for more in sorted(value.keys() - {"type", "schema"}):
                notes.add("text_option_left_out", f"text.format.{more}")
        elif name == "format" and kind in ("json_schema", "json_object"):
            told = "Answer with one JSON object and nothing else."
            if isinstance(value.get("schema"), dict):
                told += f" It must fit this JSON schema: {orjson.dumps(clean_tree(value['schema'])).decode()}"
            notes.add("json_schema_told_in_words", "text.format")
        else:
            notes.add("verbosity_left_out" if name == "verbosity" else "text_option_left_out", f"text.{name}")
    return told


def _tools(body: Json, head: Json, notes: Notes) -> None:
    """Tools, and what only has a meaning beside tools."""
    choice, given = body.get("tool_choice"), body.get("tools")
    tools: list[Json] = []
    for index, tool in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("name"), str):
            notes.add("tool_left_out", f"tools[{index}]")
            continue
        for name in tool.keys() - TOOL_FIELDS:
            notes.once("tool_field_left_out", f"tools[].{name}")
        if tool.get("strict"):
            notes.once("strict_left_out", "tools[].strict")
        tools.append(_tool(tool))
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        tools, choice = _allowed(tools, choice, notes)
    if tools:
        tools[-1] = {**tools[-1], **CACHED}
        head["tools"] = tools
    parallel = body.get("parallel_tool_calls")
    converted = _choice(choice) if tools else None
    if choice is not None and converted is None:
        notes.add("tool_choice_left_out", "tool_choice")
    if parallel is False and tools and (converted or {}).get("type") != "none":
        converted = {**(converted or {"type": "auto"}), "disable_parallel_tool_use": True}
    elif parallel is not None and not tools:
        notes.add("parallel_tool_calls_left_out", "parallel_tool_calls")
    if converted is not None:
        head["tool_choice"] = converted


def _tool(tool: Json) -> Json:
    parameters = tool.get("parameters")
    schema = parameters if isinstance(parameters, dict) and parameters else {"type": "object", "properties": {}}
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    described = {"description": tool["description"]} if tool.get("description") is not None else {}
    return {"name": tool["name"], **described, "input_schema": schema}


def _choice(choice: Any) -> Json | None:
    if isinstance(choice, str):
        return {"type": CHOICES[choice]} if choice in CHOICES else None
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom") and choice.get("name"):
        return {"type": "tool", "name": choice["name"]}
    return None


def _allowed(tools: list[Json], choice: Json, notes: Notes) -> tuple[list[Json], str]:
    allowed = choice.get("tools")
    names = [each.get("name") for each in allowed if isinstance(each, dict)] if isinstance(allowed, list) else []
    kept = [tool for tool in tools if tool["name"] in names]
    if len(kept) < len(tools):
        notes.add("tools_narrowed_to_allowed", "tools")
    return kept, "required" if choice.get("mode") == "required" else "auto"
