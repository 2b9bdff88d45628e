"""How providers word that they do not take a request as it is: data only, patterns and the lessons that they teach.

Sources: the providers' documentation and public bug reports; the tests hold the bodies.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "BETAS",
    "CALL_IDS",
    "EFFORT",
    "EFFORT_LIST",
    "EFFORT_NAME",
    "EXTRA",
    "IMAGE_LENGTH",
    "IMAGE_SIDE",
    "LIMITS",
    "NAMED",
    "OUTPUT",
    "TEXTS",
    "THINKING",
]

NAMED: Final = tuple(
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
        r"\b(\w+)[`'\"]? is deprecated for this model",
        r"invalid (\w+): only \S+ is allowed for this model",
        r"cannot specify both 'thinking' and '(reasoning_effort)'",
    )
)
"""Texts that name a field."""

_NOT: Final = r"(?:does not|doesn't|do not|cannot) (?:support|accept|process)"
_ALL_OF_THEM: Final = (
    r"(?!/|:|\W{1,3}(?:urls?|types?|formats?|extensions?|data|of|with|that|from|larger|bigger|over|above|than|more)\b)"
)
"""Nothing behind what is not taken says which of them are meant: others are taken, and must not be lost with these."""

TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.I | re.S), lesson)
    for pattern, lesson in (
        (r"invalid thinking: only type=enabled is allowed|enable_thinking parameter is restricted to true|"
         r"thinking\.type\.disabled\W{1,3}is not supported", "thinking_always_on"),
        (r"cannot specify both 'thinking' and 'reasoning_effort'", "thinking_without_effort"),
        (r"cannot be disabled when reasoning_effort is set", "no_output_config"),
        (r"tools with reasoning_effort are not supported", "no_reasoning_beside_tools"),  # OpenAI from GPT-5.4 on, Chat
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
        (r"object schema missing properties|must match JSON Schema draft 2020-12|"
         r"items: missing field|array schema missing items|"
         r"Unknown name \W{0,2}items\b.{0,200}Proto field is not repeating", "schema:any_draft"),
        (r"Unknown name \W{0,2}type\b.{0,200}Proto field is not repeating", "schema:no_type_arrays"),
        (r"property schema for '[^']*' must be an object|unrecognized schema: (?:true|false)", "schema:no_bool"),
        (r"(?:oneOf|anyOf|allOf).{0,60}(?:top level|root)|(?:top level|root).{0,60}(?:oneOf|anyOf|allOf)",
         "schema:no_root_union"),
        (r"\$(?:ref|defs).{0,60}not supported|not support.{0,40}\$(?:ref|defs)", "schema:inline_refs"),
        (r"unknown variant `(?:namespace|custom)`, expected `function`", "functions_only"),
        (r"Unsupported tool type", "functions_only"),
        (r"not configured for encrypted tool use", "functions_only"),
        (r"is reserved for use by this model", "functions_only"),
        (r"unknown input item type: .?custom_tool_call", "functions_only"),
        (r"tools\[\d+\]\.type\b.{0,80}(?:namespace|custom)", "functions_only"),
        (r"role: unknown variant `developer`|developer.{0,12} is not one of|invalid message role: developer",
         "no_developer_role"),
        (r"System messages are not allowed", "no_system_role"),
        (r"Instructions are required", "instructions"),
        (r"Unexpected role \W?system|messages\.\d+\.role: Input should be|invalid message role: system|"
         r"system message must be (?:at )?the (?:beginning|first)", "one_system_message"),
        (r"unknown variant `image_url`, expected `text`|image input is not supported|support image input|"
         rf"{_NOT} (?:any )?(?:images?|vision|image_url)\b{_ALL_OF_THEM}|"
         r"not a multimodal model|images? (?:inputs? )?(?:are|is) not supported (?:by|for|with)|"
         r"at most 0 image\(s\) may be provided|image_url is only supported", "no_images"),
        (r"only text tool_result blocks|tool_result content block type \W?image\W? is not supported|"
         r"tool messages? (?:content )?only supports? text|Input should be a valid string \(ref: ", "text_results"),
        (r"content must be a string", "known_fields>no_images"),
        (r"unknown variant `(?:file|input_file)`|unknown part type:? ?\W?file|unsupported content\[\]\.type|"
         rf"{_NOT} (?:any )?(?:files?|pdfs?|documents?)\b{_ALL_OF_THEM}",
         "no_files"),
        (r"output_(?:config\.)?format(?:\.schema)?: (?!Extra inputs)|schema is too complex", "schema_in_words"),
        (r"compiled grammar is too large|too many (?:strict tools|optional parameters)", "no_strict>schema_in_words"),
        (r"(?:function calling|tool use)\b.{0,40} with a response mime type|json mode cannot be combined with tool",
         "json_without_tools"),  # Gemini, Groq
        (r"response_format\W{1,3}does not support streaming|json mode is not supported|"
         r"json_object response format is not supported", "json_in_words"),  # Groq; SiliconFlow; DeepInfra
        (r"response_format type is unavailable|json_schema.{0,40}not supported|"
         r"not support response format \W?json_schema", "json_object>json_in_words"),
        (r"Unexpected role 'user' after role 'tool'", "assistant_after_tool"),
        (r"\b(?:must|should) alternate\b", "alternate"),
        (r"invalid type: sequence, expected a string|Input should be a valid string\W.{0,40}\bcontent\.str\b",
         "known_fields"),
        (r"does not support assistant message prefill|conversation must end with a user message|"
         r"Expected last role User or Tool|prefill is incompatible with enable_thinking", "user_last"),
        (r"No user query found in messages|\bcontents is not specified", "user_needed"),
        (r"messages must have non-empty content|text content blocks must contain non-whitespace", "known_fields"),
        (r"each message must have at least one content element", "no_empty_messages"),
        (r"tool_use\W{1,2}ids (?:were found without|must be unique)|unexpected \W?tool_use_id|"
         r"tool_use must have a single result|tool_calls\W{1,3}must be followed by tool messages|"
         r"must be a response to a prece\w+ message with \W?tool_calls|number of function response parts is equal",
         "paired_calls"),
        (r"No tool output found for (?:tool|function) call", "adjacent_outputs"),
        (r"search_content_types.{0,40}is only supported for", "plain_hosted_tools"),
        (r"encrypted content could not be verified|encrypted_content was not issued|invalid_encrypted_content",
         "no_encrypted_reasoning"),
        (r"Referenced reasoning item .{0,80}(?:was not found|expired)", "no_encrypted_reasoning"),
        (r"Item '[^']{1,80}' of type 'reasoning' was provided without its required following item|"
         r"Item with id 'rs_[^']{1,80}' not found", "no_encrypted_reasoning"),
        (r"Missing required parameter: 'input\[\d+\]\.id'", "no_encrypted_reasoning"),  # Azure, of what Codex sends
        (r"Duplicate item found with id rs_", "no_encrypted_reasoning"),
        (r"Duplicate item found with id|was provided without its required 'reasoning' item|"
         r"input\[\d+\]\.id'?: string too long|"
         r"Invalid 'input\[\d+\]\.id': .{0,80}Expected an ID that begins with", "no_item_ids"),
        (r"Encrypted content is not supported with this model", "no_encrypted_include"),
        (r"Expected \W?thinking\W? or \W?redacted_thinking\W{1,3}but found|each thinking block must contain thinking|"
         r"must match the parameters during the original request|thinking blocks, the first block must be \W?thinking|"
         r"thinking\W? is disabled, an \W?assistant\W? message", "no_encrypted_reasoning"),
        (r"content\[\]\.thinking\W+in the thinking mode must be passed back", "thoughts"),
        (r"\btool_reference\b", "known_fields"),
        (r"cache_control\.ttl\b.{0,40}not supported|A maximum of \d+ blocks with cache_control", "known_fields"),
        (r"Invalid [`'\"]?signature[`'\"]? in [`'\"]?thinking|thinking[`'\"]? blocks .{0,60}cannot be modified",
         "no_encrypted_reasoning"),
        (r"Input tag 'adaptive'|adaptive thinking is not supported|'adaptive' is not\s+supp", "no_adaptive_thinking"),
        (r"thinking\.type\.enabled\W{1,3}is not supported", "adaptive_thinking"),
        (r"thinking_budget parameter must be", "no_reasoning_switch"),
        (r"reasoning input is not enabled", "no_reasoning_replay"),
        (r"[`'\"]?temperature[`'\"]? and [`'\"]?top_p[`'\"]? cannot both be", "one_sampling_field"),
    )
)  # fmt: skip
"""Texts with a meaning of their own; they go before those that only name a field. ``a>b``: b where a did not help. Of a
list of parts hosts do not say whether it is the list that they do not take, or the image in it."""

LIMITS: Final = (
    re.compile(r"tools? (?:have been|were) provided but the maximum is (\d{1,4})", re.I),
    re.compile(r"'tools' ?: maximum number of items is (\d{1,4})", re.I),
    re.compile(r"(?:array too long|too many).{0,60}tools.{0,60}(?:maximum|at most|max)\D{0,40}(\d{1,4})", re.I),
)
OUTPUT: Final = re.compile(
    r"max_tokens: \d+ > (\d{3,7}), which is the maximum|range of max_tokens (?:is|should be) \[1, ?(\d{3,7})\]|"
    r"supports at most (\d{3,7}) completion tokens|"
    r"max_(?:completion_)?tokens\W{0,3} must be less than or equal to \W?(\d{3,7})",
    re.I,
)
"""Anthropic; DeepSeek and DashScope; OpenAI; Groq."""
EFFORT: Final = re.compile(
    r"(?:invalid reasoning value: |level |reasoning[._]effort\W{1,3}(?:value )?)[`'\"](\w+)[`'\"]", re.I
)
EFFORT_LIST: Final = re.compile(
    r"(?:must be one of|should be|one of the allowed values|supported values are|expected one of)"
    r"((?:[\s,:`'\"\[\]()]|(?:or|and|default|none|minimal|low|medium|high|xhigh|max|ultra)\b)+)",
    re.I,
)
"""The levels that a refusal of an effort lists (Groq, vLLM, OpenAI)."""
EFFORT_NAME: Final = re.compile(r"reasoning[._]?effort", re.I)
CALL_IDS: Final = re.compile(
    r"(?:call_id|tool_calls\[\d+\]\.id)'?: string too long\. Expected a string with maximum length (\d{2,3})\b", re.I
)
"""OpenAI, of ids that another host made (public reports: a Gemini behind a gateway puts its signature there)."""
THINKING: Final = re.compile(r"thinking_budget parameter must be .{0,60}not greater than ([1-9]\d{2,6})\b", re.I)
"""DashScope. A model that does not think at all has 0 there."""
IMAGE_SIDE: Final = re.compile(r"image dimensions exceeds? max allowed size[^:]{0,40}: (\d{3,5}) pixels", re.I)
IMAGE_LENGTH: Final = re.compile(r"image exceeds \d+ MB maximum: \d+ bytes > (\d{6,8}) bytes", re.I)
"""Anthropic, of an image that stays in the history: each later turn is refused as well (public reports)."""
BETAS: Final = re.compile(
    r"Unexpected value\(s\) (.{1,600}?) for the \W?anthropic-beta\W? header|(invalid beta flag)", re.I
)
"""Anthropic and Vertex name them; Bedrock does not (Claude Code behind either, public reports)."""
EXTRA: Final = re.compile(r"Extra inputs are not permitted|Unrecognized request arguments? supplied")
"""A field of a tool, a block or a mark (``tools.0.custom.defer_loading``), or of a request, that some hosts of a format
do not have."""
