"""How providers name and word their errors: data only, with the function that looks a message up.

Codes and types are compared whole; wordings are searched in the message, first match wins. A wording says what the
client can do about it: a prompt that is too long for the model is not a rate limit although it comes as 429 or 413.
Sources: the providers' documentation and public bug reports; the tests hold the bodies.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = [
    "CODES",
    "KINDS_OF_REFUSAL",
    "MODEL",
    "NUMBERS",
    "POLICY",
    "RATE_AFTER_ALL",
    "REFUSALS",
    "Wording",
    "classify_words",
    "room_for_output",
    "unquoted",
]

OVERFLOW: Final = "context_length_exceeded"
QUOTA: Final = "insufficient_quota"
RATE: Final = "rate_limit_exceeded"
OVERLOAD: Final = "upstream_overloaded"
AUTH: Final = "upstream_auth"
NO_MODEL: Final = "upstream_not_found"
REJECTED: Final = "upstream_rejected"
MODEL: Final = "invalid_tool_arguments"
"""The model's own text was no tool call: that is said of nobody's key, and the model may be asked again."""

CODES: Final[dict[str, str]] = {
    # OpenAI, and whoever copies it
    "context_length_exceeded": OVERFLOW,
    "insufficient_quota": QUOTA,
    "billing_hard_limit_reached": QUOTA,
    "billing_not_active": QUOTA,
    "rate_limit_exceeded": RATE,
    "rate_limit_error": RATE,
    "slow_down": RATE,
    "server_is_overloaded": OVERLOAD,
    "server_error": "upstream_error",
    "invalid_api_key": AUTH,
    "model_not_found": NO_MODEL,
    # Anthropic
    "overloaded_error": OVERLOAD,
    "api_error": "upstream_error",
    "authentication_error": AUTH,
    "permission_error": AUTH,
    "billing_error": QUOTA,
    "timeout_error": "upstream_timeout",
    "request_too_large": OVERFLOW,
    # Codex's own back end
    "usage_limit_reached": QUOTA,
    "usage_not_included": QUOTA,
    # Kimi
    "exceeded_current_quota_error": QUOTA,
    "rate_limit_reached_error": RATE,
    "engine_overloaded_error": OVERLOAD,
    "invalid_authentication_error": AUTH,
    "incorrect_api_key_error": AUTH,
    "resource_not_found_error": NO_MODEL,
    # GitHub Copilot and GitHub Models
    "model_max_prompt_tokens_exceeded": OVERFLOW,
    "tokens_limit_reached": OVERFLOW,
    "quota_exceeded": QUOTA,
    # llama.cpp, Cerebras, MiniMax, Qwen, Mistral
    "exceed_context_size_error": OVERFLOW,
    "unavailable_error": OVERLOAD,
    "too_many_requests_error": RATE,
    "insufficient_balance_error": QUOTA,
    "Arrearage": QUOTA,
    "service_tier_capacity_exceeded": OVERLOAD,
    "limit_requests": RATE,
    "Throttling": RATE,
    "Throttling.RateQuota": RATE,
    "Throttling.AllocationQuota": RATE,
    # OpenRouter's error_type, or the source of a limit: one that ends with the requests that run
    "openrouter_in_flight_budget": RATE,
    "content_policy_violation": REJECTED,
    "refusal": REJECTED,
    "token_limit_exceeded": OVERFLOW,
    "provider_overloaded": OVERLOAD,
    "payment_required": QUOTA,
    # Groq: the model's own call was no call
    "tool_use_failed": MODEL,
}
"""An error object's ``code``, else its ``type``."""

POLICY: Final = "cyber_policy"
"""OpenAI's refusal for which Codex has words of its own."""

REFUSALS: Final = frozenset(
    {
        # OpenAI's Responses API: ``error.code`` of a failed response, and parameters that it checks late
        POLICY,
        "invalid_prompt",
        "invalid_value",
        "unsupported_value",
        "string_above_max_length",
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "invalid_image_url",
        "invalid_image_mode",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_content_policy_violation",
        "image_file_too_large",
        "unsupported_image_media_type",
        "empty_image_file",
        "failed_to_download_image",
        "image_file_not_found",
    }
)
"""Codes of a request that would be refused again; in a stream, and behind a gateway, no status says so."""

KINDS_OF_REFUSAL: Final = frozenset({"invalid_request_error", "invalid_request", "bad_request_error"})
"""The same as a ``type`` or a code for anything. Hosts give it with every status, which then says more."""

NUMBERS: Final[dict[str, str]] = {
    # Z.ai, whose status is 429 for accounts and plans too. Mistral's numbers say nothing: 3051 is any wrong argument.
    "1113": QUOTA,
    "1211": NO_MODEL,
    "1261": OVERFLOW,
    "1302": RATE,
    "1303": RATE,
    "1304": QUOTA,
    "1305": RATE,
    "1308": QUOTA,
    "1309": QUOTA,
    "1310": QUOTA,
    "1311": NO_MODEL,
    "1312": OVERLOAD,
}
"""A ``code`` that is a number in a string."""

RATE_AFTER_ALL: Final = re.compile(r"error-code#token-limit|(?<!free )allocated quota exceeded", re.I)
"""DashScope words and names a rate of tokens as a used-up quota; a minute cures it."""


class Wording(NamedTuple):
    """Messages that match ``pattern`` mean ``code``, if they came with one of ``statuses`` (None: inside a stream)."""

    code: str
    statuses: frozenset[int | None]
    pattern: re.Pattern[str]


def _wording(code: str, statuses: tuple[int | None, ...], *patterns: str) -> Wording:
    return Wording(code, frozenset(statuses), re.compile("|".join(patterns), re.I))


UNREADABLE: Final = (
    r"error parsing tool call|failed to parse (?:input at pos \d+|tool call arguments as json)|"
    r"unexpected tokens remaining in message header|could not parse header: too many tokens|"
    r"unexpected token \d+ while expecting start token"
)
"""What Ollama, llama.cpp and vLLM with a gpt-oss say of a model's text that they could not read; behind it they quote
the text itself, arguments and all."""
_QUOTING: Final = re.compile(UNREADABLE, re.I)


def unquoted(message: str) -> str:
    """The message without the model's text that it quotes."""
    found = _QUOTING.search(message)
    return message if found is None else message[: found.end()]


WORDINGS: Final = (
    _wording(
        OVERFLOW,
        (None, 400, 413, 422, 429, 500),
        r"maximum (?:context|prompt) length",
        r"context[ _]window (?:exceeds|exceeded|is exceeded|limit)|exceeds? (?:the |this model's )?context[ _]window",
        r"exceeds? (?:the )?available context|context size has been exceeded",
        r"prompt is too long|input is too long for|prompt exceeds max(?:imum)? length|input token length too long",
        r"prompt token count of \d+ exceeds|exceeded model token limit",
        r"input token count\D{0,30}\d*\D{0,5} exceeds the maximum",
        r"longer than the (?:maximum model length|model'?s context length)",
        r"range of input length should be",
        r"tokens to keep from the initial prompt is greater than the context|when context the overflows",
        r"`inputs` tokens \+ `max_new_tokens` must be",
        r"too large for model with \d+ maximum context",
        r"reduce the length of (?:the|your) (?:messages|prompt|input)",
        r"input length \d+ exceeds (?:the )?maximum",
        # A request that is larger than a whole minute's tokens never succeeds, however long one waits.
        r"request (?:body )?too large (?:for|\()|request exceeds the maximum size",
    ),
    # What was said is refused, not who says it; and what a model behind a router cannot do.
    _wording(REJECTED, (None, 403), r"input was flagged|requires moderation|content policy|guardrail"),
    _wording(REJECTED, (404,), r"no endpoints found that support|item with id '[^']{1,80}' not found"),
    _wording(MODEL, (None, 400), r"failed to call a function\. please adjust your prompt"),
    _wording(MODEL, (None, 500), UNREADABLE),
    _wording(
        QUOTA,
        (None, 400, 401, 402, 403, 429),
        r"insufficient (?:account )?(?:balance|credits?|funds|quota)|credit balance is too low|balance is not enough",
        r"exceeded your current quota|quota (?:exhausted|exceeded|reached)|(?:daily|weekly|monthly) (?:usage )?limit",
        r"used all (?:of your )?(?:available|included) credits|run out of credits|requires more credits|out of credits",
        r"spend(?:ing)? limit|usage limit|included free usage|free-usage-exhausted|billing hard limit",
        r"account is suspended|overdue[- ]payment|please recharge|payment required",
        r"余额不足|欠费",
    ),
    _wording(OVERLOAD, (400,), r"selected model is at capacity"),
    _wording(RATE, (None, 400, 403), r"rate limit(?:ed)?\b|too many requests|requests? per (?:minute|second)"),
    _wording(
        OVERLOAD,
        (None, 429, 500),
        r"overloaded|at capacity|no (?:available )?capacity|capacity exceeded|server is busy",
        r"high (?:demand|traffic|load)",
    ),
    _wording(
        AUTH,
        (None, 400, 403),
        r"(?:incorrect|invalid) api[ _]key|api key (?:not valid|not found|expired|is invalid)",
    ),
    _wording(NO_MODEL, (400,), r"model \S+ (?:does not exist|is not found|not found)|is not a valid model id"),
)
"""In order: more telling wordings first."""


_PARTS: Final = re.compile(
    r"maximum context length is (?P<limit>\d{1,9}) tokens\b.{0,120}?"
    r"(?:\((?P<parts>\d{1,9} (?:of text input|in the messages|in your prompt)\b[^()]{0,120})\)|"
    r"request has (?P<input>\d{1,9}) input tokens)",
    re.I | re.S,
)
_FULL: Final = 0.9
"""A prompt that takes more of the context than this is too long for a useful answer."""


def room_for_output(message: str) -> int | None:
    """How many tokens of answer fit beside the prompt, where a message about the context says that only the answer that
    was asked for does not (vLLM, DeepSeek, OpenRouter); else None."""
    found = _PARTS.search(message)
    if found is None:
        return None
    # What the prompt consists of; the last part is the answer's.
    counts = [int(count) for count in re.findall(r"\d{1,9}", found["parts"] or found["input"])]
    limit, prompt = int(found["limit"]), sum(counts[:-1] or counts)
    return limit - prompt if prompt < limit * _FULL else None


def classify_words(message: str, status: int | None) -> str | None:
    """Our code for a provider's message, None when its words say nothing about that."""
    for wording in WORDINGS:
        if status in wording.statuses and wording.pattern.search(message):
            return wording.code
    return None
