"""Refusals: what an upstream's refusal teaches about its dialect; the texts are in ``refusal_wording.py``.

A lesson is an id (``drop:temperature``, ``tokens:max_completion_tokens``, ``schema:no_bool``) made of closed sets of
words and small numbers, never of an upstream's text; its effect is a change of the dialect. So a lesson can only ever
leave out or rewrite what a dialect may leave out or rewrite, and never a tool of the client. Opaque refusals ("Invalid
API parameter") teach nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import Any, Final, get_args

from translators.dialects.base import Dialect, SchemaRule
from translators.error_wording import room_for_output
from translators.messages.betas import KNOWN
from translators.refusal_wording import (
    BETAS,
    CALL_IDS,
    EFFORT,
    EFFORT_LIST,
    EFFORT_NAME,
    EXTRA,
    IMAGE_LENGTH,
    IMAGE_SIDE,
    LIMITS,
    NAMED,
    OUTPUT,
    TEXTS,
    THINKING,
)

__all__ = ["NO_REASONING_BESIDE_TOOLS", "OF_HEADERS", "OF_ONE_REQUEST", "lesson_of", "opposites", "taught"]

_SIMPLE: Final = (
    *("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "stop", "seed", "user", "n"),
    *("logit_bias", "top_logprobs", "metadata", "service_tier", "truncation", "safety_identifier"),
    *("prompt_cache_retention", "prompt_cache_options", "prompt_cache_key", "include", "store", "reasoning.summary"),
    *("reasoning.effort", "text.verbosity", "context_management", "max_tool_calls", "max_output_tokens"),
)
_FIELDS: Final[dict[str, str]] = {
    **{name: f"drop:{name}" for name in _SIMPLE},
    "logprobs": "drop:top_logprobs",
    "reasoning_effort": "drop:reasoning.effort",
    "effort": "drop:reasoning.effort",
    "reasoning": "no_reasoning_switch",
    "thinking": "no_reasoning_switch",
    "enable_thinking": "no_reasoning_switch",
    "verbosity": "drop:text.verbosity",
    "parallel_tool_calls": "no_parallel_tool_calls",
    "stream_options": "no_stream_options",
    "include_usage": "no_stream_options",
    "reasoning_split": "no_extra_fields",
    "reasoning_format": "no_extra_fields",
    "response_format": "json_object",
    "strict": "no_strict",
    "output_config": "no_output_config",
    "output_config.format": "json_object",
    "output_format": "json_object",
    "cache_control": "no_extra_fields",
    "max_tokens": "tokens:max_completion_tokens",
    "max_completion_tokens": "tokens:max_tokens",
    "reasoning_content": "no_reasoning_replay",
    "reasoning_details": "no_reasoning_replay",
}
"""A refused field's name on the wire, or the part of a path that counts -> the lesson."""

_LEVELS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
_NEAREST: Final = {
    "none": "low",
    "minimal": "low",
    "medium": "high",
    "high": "medium",
    "xhigh": "high",
    "max": "high",
    "ultra": "max",
    "low": "medium",
}
_DEFAULT: Final = "default"
"""How Groq calls the one level of a model that thinks or does not."""
_TOOL_LIMITS: Final = range(1, 10_000)

_NUMBERED: Final = ((IMAGE_SIDE, "image_side"), (IMAGE_LENGTH, "image_length"), (THINKING, "thinking_limit"))
_ID_LIMITS: Final = range(32, 1000)
_ALL: Final = "all"
_NAMING_CODES: Final = frozenset({"unsupported_parameter", "unknown_parameter", "unsupported_value"})
_CAMEL: Final = re.compile(r"(?<=[a-z])[A-Z]")

OF_ONE_REQUEST: Final = frozenset(
    (
        *("no_encrypted_reasoning", "no_item_ids", "output_room", "image_side", "image_length"),
        *("schema_in_words", "paired_calls"),
    )
)
"""Lessons about one conversation or its answer, not about the model, by the first part of their ids."""
NO_REASONING_BESIDE_TOOLS: Final = "no_reasoning_beside_tools"
"""The one that another wire of the same upstream makes unnecessary."""
OF_HEADERS: Final = frozenset({"no_betas"})
"""Lessons that leave the body as it is, by the first part of their ids."""


def lesson_of(
    message: str, *, code: str | None = None, param: str | None = None, used: Container[str] = ()
) -> str | None:
    """The id of the lesson that a refusal teaches, or None. ``used`` are those that the request was made with; all else
    comes from the upstream."""
    if lesson := _told(message):
        return lesson
    if room := room_for_output(message):
        return f"output_room:{room}"
    if code == "invalid_encrypted_content":
        return "no_encrypted_reasoning"
    for pattern, lesson in TEXTS:
        if pattern.search(message):
            first, _, second = lesson.partition(">")
            return second if second and first in used else first
    if levels := _listed_levels(message, param):
        return f"efforts:{'+'.join(levels)}"
    if (found := EFFORT.search(message)) and found[1] in _LEVELS:
        return f"effort:{found[1]}"
    for pattern in NAMED:
        if (found := pattern.search(message)) and (lesson := _of_field(found[1])):
            return lesson
    if EXTRA.search(message):
        return "known_fields"
    return (_of_field(param) or None) if param and code in _NAMING_CODES else None


def _told(message: str) -> str | None:
    """The lesson of a refusal that says how much, or which, is taken."""
    for pattern in LIMITS:
        if found := pattern.search(message):
            return f"tool_limit:{int(found[1])}" if int(found[1]) in _TOOL_LIMITS else None
    if found := OUTPUT.search(message):
        return f"output_limit:{int(found[found.lastindex or 0])}"
    if (found := CALL_IDS.search(message)) and int(found[1]) in _ID_LIMITS:
        return f"call_ids:{int(found[1])}"
    for pattern, kind in _NUMBERED:
        if found := pattern.search(message):
            return f"{kind}:{int(found[1])}"
    if found := BETAS.search(message):
        named = sorted(KNOWN.intersection(re.findall(r"[\w-]+", found[1] or "")))
        return f"no_betas:{'+'.join(named) or _ALL}"
    return None


def _listed_levels(message: str, param: str | None) -> list[str]:
    """The levels that there are, where a refusal is about the effort and lists them."""
    found = EFFORT_LIST.search(message)
    if found is None or not (EFFORT_NAME.search(message) or EFFORT_NAME.search(param or "")):
        return []
    named = set(re.findall(r"[a-z]+", found[1].lower()))
    return [level for level in (_DEFAULT, *_LEVELS) if level in named]


def _of_field(name: str) -> str:
    """The lesson for a field named in a refusal, "" if it is none that may be left out."""
    snake = _CAMEL.sub(lambda found: "_" + found[0].lower(), name).strip(".")
    return _FIELDS.get(snake) or _FIELDS.get(snake.rpartition(".")[2], "")


def opposites(lesson: str) -> tuple[str, ...]:
    """Lessons that this one proves wrong."""
    kind, _, value = lesson.partition(":")
    if kind == "tokens":
        return tuple(f"tokens:{name}" for name in ("max_tokens", "max_completion_tokens") if name != value)
    return {
        "no_developer_role": ("no_system_role",),
        "no_system_role": ("no_developer_role",),
        "no_reasoning_replay": ("replay_reasoning:calls", "replay_reasoning:all"),
        "replay_reasoning": ("no_reasoning_replay",),
        "no_adaptive_thinking": ("adaptive_thinking",),
        "adaptive_thinking": ("no_adaptive_thinking",),
    }.get(kind, ())


def taught(dialect: Dialect, lessons: Iterable[str]) -> Dialect:
    """The dialect after these lessons. An id that no lesson has changes nothing."""
    for lesson in lessons:
        kind, _, value = lesson.partition(":")
        effect = _EFFECTS.get(kind)
        if effect is not None:
            dialect = replace(dialect, **effect(dialect, value))
    return dialect


def _drop(dialect: Dialect, value: str) -> dict[str, Any]:
    known = {"refused": dialect.refused | {value}} if value in _SIMPLE else {}
    return {**known, "cache_key_field": None} if value == "prompt_cache_key" else known


def _tokens(dialect: Dialect, value: str) -> dict[str, Any]:
    return {"max_tokens_field": value} if value in ("max_tokens", "max_completion_tokens") else {}


def _effort(dialect: Dialect, value: str) -> dict[str, Any]:
    """That level is not taken: the nearest one instead."""
    if value not in _LEVELS:
        return {}
    levels = (dialect.efforts if dialect.efforts is not None else frozenset(_LEVELS)) - {value}
    nearest = _nearest(value, levels) or ""
    known = {asked: nearest if level == value else level for asked, level in dialect.effort_map.items()}
    return {"efforts": levels, "effort_map": {**known, value: nearest}}


def _efforts(dialect: Dialect, value: str) -> dict[str, Any]:
    """Only these levels are taken: the nearest one instead of each other."""
    levels = frozenset(value.split("+")) & {_DEFAULT, *_LEVELS}
    if not levels:
        return {}
    mapped = {level: _nearest(level, levels) for level in _LEVELS if level not in levels}
    return {"efforts": levels, "effort_map": {level: other for level, other in mapped.items() if other}}


def _nearest(level: str, levels: frozenset[str]) -> str | None:
    """One of ``levels`` instead of this one: how providers themselves map it, else any that thinks."""
    seen: set[str] = set()
    while level not in seen:
        seen.add(level)
        level = _NEAREST[level]
        if level in levels:
            return level
    return next((each for each in (*_LEVELS[1:], _DEFAULT) if each in levels), None)


def _schema(dialect: Dialect, value: str) -> dict[str, Any]:
    return {"schema": dialect.schema | {value}} if value in get_args(SchemaRule) else {}


def _tool_limit(dialect: Dialect, value: str) -> dict[str, Any]:
    return {"tool_limit": int(value)} if value.isdigit() and int(value) in _TOOL_LIMITS else {}


def _call_ids(dialect: Dialect, value: str) -> dict[str, Any]:
    return {"call_id_limit": int(value)} if value.isdigit() and int(value) in _ID_LIMITS else {}


def _number(field: str) -> Callable[[Dialect, str], dict[str, Any]]:
    return lambda dialect, value: {field: int(value)} if value.isdigit() and int(value) > 0 else {}


def _no_betas(dialect: Dialect, value: str) -> dict[str, Any]:
    asked = KNOWN if dialect.betas is None else dialect.betas
    return {"betas": frozenset() if value == _ALL else asked - frozenset(value.split("+"))}


def _replay(dialect: Dialect, value: str) -> dict[str, Any]:
    if value not in ("calls", "all"):
        return {}
    if dialect.replay_required == value:
        return {"placeholder": " " if dialect.placeholder != " " else "."}  # it was there, but not enough
    field = dialect.replay if dialect.replay in ("reasoning_content", "reasoning") else "reasoning_content"
    return {"replay_required": value, "replay": field}


def _fixed(**changes: Any) -> Callable[[Dialect, str], dict[str, Any]]:
    return lambda dialect, value: changes


_EFFECTS: Final[dict[str, Callable[[Dialect, str], dict[str, Any]]]] = {
    "drop": _drop,
    "tokens": _tokens,
    "effort": _effort,
    "efforts": _efforts,
    "schema": _schema,
    "tool_limit": _tool_limit,
    "output_limit": _number("max_tokens_limit"),
    "output_room": _number("max_tokens_limit"),
    "thinking_limit": _number("thinking_limit"),
    "no_betas": _no_betas,
    "call_ids": _call_ids,
    "no_item_ids": _fixed(item_ids=False),
    "known_fields": _fixed(unknown_fields=False),
    "no_adaptive_thinking": _fixed(thinking_on="enabled"),
    "adaptive_thinking": _fixed(thinking_on="adaptive"),
    "no_output_config": _fixed(thinking_on="enabled", json_schema=False),
    "one_sampling_field": _fixed(one_sampling_field=True),
    "replay_reasoning": _replay,
    "no_reasoning_replay": _fixed(replay="none", replay_required="no"),
    "thoughts": _fixed(thoughts_required=True),
    "sign_calls": _fixed(sign_calls=True),
    "no_reasoning_switch": lambda dialect, value: {
        "reasoning": "none",
        "refused": dialect.refused | {"reasoning.effort", "reasoning.summary"},
    },
    "thinking_always_on": _fixed(thinking_off=False),
    "thinking_without_effort": _fixed(reasoning="thinking"),
    NO_REASONING_BESIDE_TOOLS: _fixed(reasoning_beside_tools=False),
    "tool_choice": lambda dialect, value: {"tool_choice": dialect.tool_choice & {"auto", "none"}},
    "tools_beside_calls": _fixed(tools_beside_calls=True),
    "functions_only": _fixed(functions_only=True),
    "no_developer_role": _fixed(developer_role=False),
    "no_system_role": _fixed(system_role=False),
    "instructions": _fixed(instructions_required=True),
    "one_system_message": _fixed(later_system=False),
    "text_results": _fixed(text_results=True, images_in_tool_results=False),
    "image_side": _number("image_side"),
    "image_length": _number("image_length"),
    "no_images": _fixed(images=False),
    "no_files": _fixed(files=False),
    "json_object": _fixed(json_schema=False),
    "json_without_tools": _fixed(json_beside_tools=False),
    "json_in_words": _fixed(json_schema=False, json_format=False),
    "schema_in_words": _fixed(json_schema=False),
    "no_strict": _fixed(strict_tools=False),
    "no_parallel_tool_calls": lambda dialect, value: {
        "parallel_tool_calls": False,
        "refused": dialect.refused | {"parallel_tool_calls"},
    },
    "no_stream_options": _fixed(stream_usage=False),
    "no_extra_fields": _fixed(extra={}),
    "user_last": _fixed(user_last=True),
    "user_needed": _fixed(user_needed=True),
    "alternate": _fixed(merge_same_role=True, assistant_after_tool=True, later_system=False),
    "assistant_after_tool": _fixed(assistant_after_tool=True),
    "paired_calls": _fixed(unknown_fields=False),  # over the hub: there calls and results are paired
    "no_empty_messages": _fixed(empty_messages=False),
    "adjacent_outputs": _fixed(adjacent_outputs=True),
    "plain_hosted_tools": _fixed(hosted_fields=frozenset({"filters"})),
    "no_encrypted_reasoning": _fixed(encrypted_reasoning="none"),
    "no_encrypted_include": _fixed(encrypted_include=False),
}
"""The first part of a lesson's id -> the fields of the dialect that it changes."""
