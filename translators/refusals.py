"""Refusals: what an upstream's refusal teaches about its dialect, as a table of texts and a table of lessons.

A lesson is an id (``drop:temperature``, ``tokens:max_completion_tokens``, ``schema:no_bool``) made of closed sets of
words and small numbers, never of an upstream's text; its effect is a change of the dialect. So a lesson can only ever
leave out or rewrite what a dialect may leave out or rewrite, and never a tool of the client. Opaque refusals ("Invalid
API parameter") teach nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, get_args

from translators.dialects.base import Dialect, SchemaRule
from translators.error_wording import asks_too_much_output
from translators.messages.betas import KNOWN as BETAS

__all__ = ["OF_ONE_REQUEST", "lesson_of", "opposites", "taught"]

_SIMPLE: Final = (
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "seed", "user", "n", "logit_bias"),
    *("top_logprobs", "metadata", "service_tier", "truncation", "safety_identifier", "prompt_cache_retention"),
    *("prompt_cache_options", "prompt_cache_key", "include", "store", "reasoning.summary", "reasoning.effort"),
    *("text.verbosity", "context_management", "max_tool_calls", "max_output_tokens"),
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

_NAMED: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"does not support (?:the )?parameter:? [`'\"]?([\w.]+)",
        r"does not support the (effort) parameter",
        r"not supported on this model: ([\w.]+)",
        r"property ['\"`]([\w.]+)['\"`] is unsupported",
        r"(?:unsupported|unknown|unrecognized) (?:request )?(?:parameter|argument|field)(?:\(s\))?(?: supplied)?:? ?"
        r"[`'\"]?([\w.]+)",
        r"Extra inputs are not permitted,? field: ['\"`]([\w.]+)",
        r"'loc': \('body', '(\w+)'\).{0,40}Extra inputs are not permitted",
        r"([\w.]+): Extra inputs are not permitted",
        r"Unknown name ['\"`]([\w.]+)",
        r"[`'\"]([\w.]+)[`'\"] is not supported (?:with|for|by) this model",
        r"[`'\"]([\w.]+)[`'\"] does not support",
        r"invalid (\w+): only \S+ is allowed for this model",
        r"cannot specify both 'thinking' and '(reasoning_effort)'",
    )
)
"""Texts that name a field."""

_TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.I | re.S), lesson)
    for pattern, lesson in (
        (r"invalid thinking: only type=enabled is allowed|enable_thinking parameter is restricted to true",
         "thinking_always_on"),
        (r"cannot specify both 'thinking' and 'reasoning_effort'", "thinking_without_effort"),
        (r"cannot be disabled when reasoning_effort is set", "no_output_config"),
        (r"reasoning is mandatory for this endpoint|cannot be disabled", "effort:none"),
        (r"reasoning_content is missing in assistant tool call message", "replay_reasoning:calls"),
        (r"reasoning_content\W+in the thinking mode must be passed back", "replay_reasoning:all"),
        (r"reasoning_text\W+in the thinking mode must be passed back", "thoughts"),
        (r"missing (?:a )?`?thought_signature", "sign_calls"),
        (r"assistant.{0,200}property '(?:reasoning|reasoning_content)' is unsupported", "no_reasoning_replay"),
        (r"blocks must define tools|toolConfig field must be defined|tool calling without `tools=` param",
         "tools_beside_calls"),
        (r"tool_choice.{0,120}(?:incompatible with thinking|not support.{0,40}(?:required|object))",
         "tool_choice:auto"),
        (r"Invalid tool_choice|tool_choice.{0,80}only.{0,20}auto|when tool_choice forces", "tool_choice:auto"),
        (r"Recursive JSON schemas", "schema:no_recursion"),
        (r"conflicting keywords found after \$ref expansion", "schema:moonshot"),
        (r"moonshot flavored json schema|parameters\.type is required and must be \W*object", "schema:moonshot"),
        (r"must match JSON Schema draft 2020-12|items: missing field|"
         r"Unknown name \W{0,2}items\b.{0,200}Proto field is not repeating", "schema:any_draft"),
        (r"Unknown name \W{0,2}type\b.{0,200}Proto field is not repeating", "schema:no_type_arrays"),
        (r"property schema for '[^']*' must be an object|unrecognized schema: (?:true|false)", "schema:no_bool"),
        (r"(?:oneOf|anyOf|allOf).{0,60}(?:top level|root)|(?:top level|root).{0,60}(?:oneOf|anyOf|allOf)",
         "schema:no_root_union"),
        (r"\$(?:ref|defs).{0,60}not supported|not support.{0,40}\$(?:ref|defs)", "schema:inline_refs"),
        (r"unknown variant `(?:namespace|custom)`, expected `function`", "functions_only"),
        (r"Unsupported tool type", "functions_only"),
        (r"unknown input item type: .?custom_tool_call", "functions_only"),
        (r"tools\[\d+\]\.type\b.{0,80}(?:namespace|custom)", "functions_only"),
        (r"role: unknown variant `developer`|developer.{0,12} is not one of|invalid message role: developer",
         "no_developer_role"),
        (r"invalid message role: system|system message must be (?:at )?the (?:beginning|first)", "one_system_message"),
        (r"unknown variant `image_url`, expected `text`|image input is not supported|support image input|"
         r"(?:does not|doesn't|do not|cannot) (?:support|accept|process) (?:any )?(?:images?\b|vision|image_url)|"
         r"not a multimodal model|images? (?:inputs? )?(?:are|is) not supported (?:by|for|with)|"
         r"at most 0 image\(s\) may be provided|image_url is only supported|content must be a string", "no_images"),
        (r"unknown variant `(?:file|input_file)`|unknown part type:? ?\W?file|unsupported content\[\]\.type|"
         r"(?:does not|doesn't|do not|cannot) (?:support|accept|process) (?:any )?(?:files?\b|pdfs?\b|documents?\b)",
         "no_files"),
        (r"response_format type is unavailable|json_schema.{0,40}not supported", "json_object"),
        (r"Unexpected role 'user' after role 'tool'", "assistant_after_tool"),
        (r"each message must have at least one content element", "no_empty_messages"),
        (r"No tool output found for (?:tool|function) call", "adjacent_outputs"),
        (r"search_content_types.{0,40}is only supported for", "plain_hosted_tools"),
        (r"encrypted content could not be verified|encrypted_content was not issued|invalid_encrypted_content",
         "no_encrypted_reasoning"),
        (r"Referenced reasoning item .{0,80}(?:was not found|expired)", "no_encrypted_reasoning"),
        (r"Item '[^']{1,80}' of type 'reasoning' was provided without its required following item|"
         r"Item with id 'rs_[^']{1,80}' not found", "no_encrypted_reasoning"),
        (r"was provided without its required 'reasoning' item|input\[\d+\]\.id'?: string too long|"
         r"Invalid 'input\[\d+\]\.id': .{0,80}Expected an ID that begins with", "no_item_ids"),
        (r"Encrypted content is not supported with this model", "drop:include"),
        (r"Expected \W?thinking\W? or \W?redacted_thinking\W{1,3}but found|each thinking block must contain thinking|"
         r"must match the parameters during the original request|thinking blocks, the first block must be \W?thinking",
         "no_encrypted_reasoning"),
        (r"content\[\]\.thinking\W+in the thinking mode must be passed back", "thoughts"),
        (r"\btool_reference\b", "known_fields"),
        (r"Invalid [`'\"]?signature[`'\"]? in [`'\"]?thinking|thinking[`'\"]? blocks .{0,60}cannot be modified",
         "no_encrypted_reasoning"),
        (r"Input tag 'adaptive'|adaptive thinking is not supported|'adaptive' is not\s+supp", "no_adaptive_thinking"),
        (r"thinking\.type\.enabled\W{1,3}is not supported", "adaptive_thinking"),
        (r"thinking_budget parameter must be", "no_reasoning_switch"),
        (r"reasoning input is not enabled", "no_reasoning_replay"),
        (r"[`'\"]?temperature[`'\"]? and [`'\"]?top_p[`'\"]? cannot both be", "one_sampling_field"),
    )
)  # fmt: skip
"""Texts with a meaning of their own; they go before those that only name a field."""

_LIMITS: Final = (
    re.compile(r"tools? (?:have been|were) provided but the maximum is (\d{1,4})", re.I),
    re.compile(r"'tools' ?: maximum number of items is (\d{1,4})", re.I),
    re.compile(r"(?:array too long|too many).{0,60}tools.{0,60}(?:maximum|at most|max)\D{0,40}(\d{1,4})", re.I),
)
_OUTPUT: Final = re.compile(
    r"max_tokens: \d+ > (\d{3,7}), which is the maximum|range of max_tokens (?:is|should be) \[1, ?(\d{3,7})\]|"
    r"supports at most (\d{3,7}) completion tokens|"
    r"max_(?:completion_)?tokens\W{0,3} must be less than or equal to \W?(\d{3,7})",
    re.I,
)
"""Anthropic; DeepSeek and DashScope; OpenAI; Groq."""
_EFFORT: Final = re.compile(
    r"(?:invalid reasoning value: |level |reasoning[._]effort\W{1,3}(?:value )?)[`'\"](\w+)[`'\"]", re.I
)
_EFFORT_LIST: Final = re.compile(
    r"(?:must be one of|should be|one of the allowed values|supported values are|expected one of)"
    r"((?:[\s,:`'\"\[\]()]|(?:or|and|default|none|minimal|low|medium|high|xhigh|max|ultra)\b)+)",
    re.I,
)
"""The levels that a refusal of an effort lists (Groq, vLLM, OpenAI)."""
_EFFORT_NAME: Final = re.compile(r"reasoning[._]?effort", re.I)
_CALL_IDS: Final = re.compile(
    r"(?:call_id|tool_calls\[\d+\]\.id)'?: string too long\. Expected a string with maximum length (\d{2,3})\b", re.I
)
"""OpenAI, of ids that another host made (public reports: a Gemini behind a gateway puts its signature there)."""
_ID_LIMITS: Final = range(32, 1000)
_BETAS: Final = re.compile(
    r"Unexpected value\(s\) (.{1,600}?) for the \W?anthropic-beta\W? header|(invalid beta flag)", re.I
)
"""Anthropic and Vertex name them; Bedrock does not (Claude Code behind either, public reports)."""
_ALL: Final = "all"
_EXTRA: Final = "Extra inputs are not permitted"
"""A field of a tool, a block or a mark (``tools.0.custom.defer_loading``) that some hosts of a format do not have."""
_NAMING_CODES: Final = frozenset({"unsupported_parameter", "unknown_parameter", "unsupported_value"})
_CAMEL: Final = re.compile(r"(?<=[a-z])[A-Z]")

OF_ONE_REQUEST: Final = frozenset({"no_encrypted_reasoning", "no_item_ids"})
"""Lessons about one conversation's history, not about the model."""


def lesson_of(message: str, *, code: str | None = None, param: str | None = None) -> str | None:
    """The id of the lesson that a refusal teaches, or None. All arguments come from the upstream."""
    if lesson := _told(message):
        return lesson
    if asks_too_much_output(message):
        return "drop:max_output_tokens"
    if code == "invalid_encrypted_content":
        return "no_encrypted_reasoning"
    for pattern, lesson in _TEXTS:
        if pattern.search(message):
            return lesson
    if levels := _listed_levels(message, param):
        return f"efforts:{'+'.join(levels)}"
    if (found := _EFFORT.search(message)) and found[1] in _LEVELS:
        return f"effort:{found[1]}"
    for pattern in _NAMED:
        if (found := pattern.search(message)) and (lesson := _of_field(found[1])):
            return lesson
    if _EXTRA in message:
        return "known_fields"
    return (_of_field(param) or None) if param and code in _NAMING_CODES else None


def _told(message: str) -> str | None:
    """The lesson of a refusal that says how much, or which, is taken."""
    for pattern in _LIMITS:
        if found := pattern.search(message):
            return f"tool_limit:{int(found[1])}" if int(found[1]) in _TOOL_LIMITS else None
    if found := _OUTPUT.search(message):
        return f"output_limit:{int(found[found.lastindex or 0])}"
    if (found := _CALL_IDS.search(message)) and int(found[1]) in _ID_LIMITS:
        return f"call_ids:{int(found[1])}"
    if found := _BETAS.search(message):
        named = sorted(BETAS.intersection(re.findall(r"[\w-]+", found[1] or "")))
        return f"no_betas:{'+'.join(named) or _ALL}"
    return None


def _listed_levels(message: str, param: str | None) -> list[str]:
    """The levels that there are, where a refusal is about the effort and lists them."""
    found = _EFFORT_LIST.search(message)
    if found is None or not (_EFFORT_NAME.search(message) or _EFFORT_NAME.search(param or "")):
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


def _output_limit(dialect: Dialect, value: str) -> dict[str, Any]:
    return {"max_tokens_limit": int(value)} if value.isdigit() and int(value) > 0 else {}


def _call_ids(dialect: Dialect, value: str) -> dict[str, Any]:
    return {"call_id_limit": int(value)} if value.isdigit() and int(value) in _ID_LIMITS else {}


def _no_betas(dialect: Dialect, value: str) -> dict[str, Any]:
    asked = BETAS if dialect.betas is None else dialect.betas
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
    "output_limit": _output_limit,
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
    "tool_choice": lambda dialect, value: {"tool_choice": dialect.tool_choice & {"auto", "none"}},
    "tools_beside_calls": _fixed(tools_beside_calls=True),
    "functions_only": _fixed(functions_only=True),
    "no_developer_role": _fixed(developer_role=False),
    "one_system_message": _fixed(later_system=False),
    "no_images": _fixed(images=False),
    "no_files": _fixed(files=False),
    "json_object": _fixed(json_schema=False),
    "no_strict": _fixed(strict_tools=False),
    "no_parallel_tool_calls": lambda dialect, value: {
        "parallel_tool_calls": False,
        "refused": dialect.refused | {"parallel_tool_calls"},
    },
    "no_stream_options": _fixed(stream_usage=False),
    "no_extra_fields": _fixed(extra={}),
    "assistant_after_tool": _fixed(assistant_after_tool=True),
    "no_empty_messages": _fixed(empty_messages=False),
    "adjacent_outputs": _fixed(adjacent_outputs=True),
    "plain_hosted_tools": _fixed(hosted_fields=frozenset({"filters"})),
    "no_encrypted_reasoning": _fixed(encrypted_reasoning="none"),
}
"""The first part of a lesson's id -> the fields of the dialect that it changes."""
