"""The providers as scripted upstreams that refuse what the real ones refuse: one entry each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.providers.checks import (
    Check,
    Json,
    adjacent,
    after_tool,
    at_most,
    call_ids,
    choices,
    closed_messages,
    efforts,
    flat_tools,
    issued,
    known_fields,
    moonshot_schemas,
    no_booleans,
    not_recursive,
    one_system,
    only_functions,
    plain_schemas,
    reasoning_back,
    refuses,
    reserved,
    roles,
    spoken,
    streamed,
)

THOUGHT = "The file must be read before it is changed."
ENCRYPTED = "scripted-reasoning"
_CHAT = ("system", "user", "assistant", "tool")


def openai_error(words: str) -> Json:
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}


@dataclass(frozen=True, slots=True)
class Rules:
    """One provider: its wire, a model of it, what it checks in this order, and the form of its refusals."""

    wire: str
    model: str
    checks: tuple[Check, ...]
    error: Callable[[str], Json] = openai_error

    def refuse(self, body: Json) -> Json | None:
        """The body of a 400, or None for a request that is taken."""
        said = next((words for check in self.checks if (words := check(body)) is not None), None)
        return None if said is None else self.error(said)


def _numbered(words: str) -> Json:
    error: dict[str, Any] = {"type": "bad_request_error", "message": words, "http_code": "400"}
    return {"type": "error", "error": error, "request_id": "r"}


COMMON: tuple[Check, ...] = (streamed, adjacent, spoken)
_CHAT_FIELDS = (
    *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "max_tokens"),
    *("temperature", "top_p", "stop", "response_format", "reasoning_effort", "presence_penalty", "frequency_penalty"),
)

PROVIDERS: dict[str, Rules] = {
    "xai": Rules(
        "responses",
        "grok-4",
        (
            streamed,
            at_most(200, "Maximum tools limit reached. {0} tools have been provided but the maximum is {1}."),
            only_functions("web_search", "x_search", "code_interpreter"),
            reserved("web_search", "x_search"),
            plain_schemas,
            refuses(
                "Model grok-4 does not support parameter {0}.",
                *("reasoning.effort", "reasoning.summary", "stop", "presence_penalty", "frequency_penalty", "metadata"),
            ),
            adjacent,
            issued(ENCRYPTED),
        ),
        lambda words: {"code": "invalid-argument", "error": words},
    ),
    "meta": Rules(
        "responses",
        "muse-spark-1.3",
        (
            streamed,
            only_functions("web_search", "web_search_preview"),
            flat_tools,
            choices("tool_choice {0} is not supported, only auto", "auto"),
            not_recursive,
            efforts("minimal", "low", "medium", "high", "xhigh", "max"),
            refuses("Unsupported parameter: '{0}'", "stop", "logit_bias", "top_logprobs", "reasoning.summary"),
            adjacent,
            issued(ENCRYPTED),
        ),
    ),
    "kimi": Rules(
        "chat",
        "kimi-k3",
        (
            *COMMON,
            only_functions("builtin_function"),
            moonshot_schemas,
            refuses("invalid {0}: only 1 is allowed for this model", "temperature", "top_p", "presence_penalty", "n"),
            refuses("cannot specify both 'thinking' and 'reasoning_effort'", "thinking"),
            efforts("low", "high", "max"),
            choices("tool_choice '{0}' is incompatible with thinking enabled", "auto", "none", "required"),
            reasoning_back(
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index {0}",
                every=False,
                texts=(THOUGHT,),
            ),
        ),
    ),
    "deepseek": Rules(
        "chat",
        "deepseek-v4-pro",
        (
            *COMMON,
            only_functions(),
            roles(*_CHAT, "latest_reminder"),
            choices("tool_choice {0} is not supported in thinking mode: incompatible with thinking", "auto", "none"),
            efforts("low", "high", "max"),
            reasoning_back(
                "The reasoning_content in the thinking mode must be passed back to the API.",
                every=True,
                texts=(THOUGHT,),
            ),
        ),
    ),
    "openrouter": Rules("chat", "some/model", (*COMMON, only_functions(), one_system, refuses("{0}?", "thinking"))),
    "minimax": Rules(
        "chat",
        "MiniMax-M3",
        (
            *COMMON,
            only_functions(),
            one_system,
            roles(*_CHAT),
            refuses("unsupported parameter: {0}", "reasoning_effort", "max_tokens"),
            flat_tools,
        ),
        _numbered,
    ),
    "zai": Rules(
        "chat",
        "glm-5.3",
        (
            *COMMON,
            only_functions(),
            roles(*_CHAT),
            one_system,
            choices("Invalid API parameter", "auto"),
            efforts("low", "high", "max"),
            known_fields(*_CHAT_FIELDS, "thinking"),
            refuses("Invalid API parameter", "parallel_tool_calls"),
        ),
        lambda words: {"error": {"code": "1210", "message": words}},
    ),
    "qwen": Rules(
        "chat",
        "qwen3.8-max",
        (
            *COMMON,
            only_functions(),
            roles(*_CHAT),
            one_system,
            choices("The tool_choice parameter does not support being set to required or object in thinking", "auto"),
            refuses("Unsupported parameter: {0}", "reasoning_effort"),
        ),
    ),
    "mistral": Rules(
        "chat",
        "mistral-medium-3.5",
        (
            *COMMON,
            only_functions(),
            roles(*_CHAT),
            plain_schemas,
            after_tool,
            call_ids("[A-Za-z0-9]{9}"),
            closed_messages("prefix"),
            efforts("high", "none"),
            refuses("Extra inputs are not permitted, field: '{0}'", "stream_options", "user", "store", "seed"),
        ),
        lambda words: {"object": "error", "message": words, "type": "invalid_request_error", "code": None},
    ),
    "groq": Rules(
        "chat",
        "openai/gpt-oss-120b",
        (
            *COMMON,
            at_most(128, "'tools' : maximum number of items is {1}"),
            only_functions(),
            closed_messages(),
            efforts("none", "default", "low", "medium", "high"),
            refuses("property '{0}' is unsupported, did you mean 'stop'?", "store", "thinking"),
        ),
    ),
    "gemini": Rules(
        "chat",
        "gemini-3-pro",
        (
            *COMMON,
            only_functions(),
            plain_schemas,
            no_booleans,
            known_fields(*_CHAT_FIELDS),
            refuses('Unknown name "{0}": Cannot find field.', "presence_penalty", "parallel_tool_calls"),
            closed_messages(),
        ),
        lambda words: {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}},
    ),
    "ollama": Rules(
        "chat",
        "gpt-oss:20b",
        (*COMMON, only_functions(), no_booleans, efforts("none", "low", "medium", "high"), refuses("{0}?", "user")),
    ),
    "vllm": Rules("chat", "Qwen/Qwen3.5-27B", (*COMMON, only_functions(), no_booleans, one_system)),
    "lm-studio": Rules(
        "chat",
        "qwen3.5-9b",
        (
            *COMMON,
            only_functions(),
            no_booleans,
            one_system,
            choices("Invalid tool_choice", "auto", "none", "required"),
        ),
    ),
    "llama.cpp": Rules("chat", "local", (*COMMON, only_functions(), no_booleans, one_system, roles(*_CHAT))),
}
"""Provider type -> its rules."""
