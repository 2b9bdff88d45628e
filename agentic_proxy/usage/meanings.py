"""What ids of records mean, in one clause each, for people."""

from __future__ import annotations

from typing import Final

from translators.apply_patch.repair import RULES

CODES: Final[dict[str, str]] = {
    "invalid_request_error": "the request was not valid",
    "not_available_yet": "this version cannot call a provider of that type",
    "previous_response_not_found": "the response that it continues is not stored here",
    "model_not_found": "no provider has a model of that name",
    "conversation_locked": "another turn changed the conversation meanwhile",
    "conversation_not_found": "the conversation is not stored here",
    "response_not_found": "the response is not stored here",
    "item_not_found": "an item that it refers to is not stored here",
    "thread_not_found": "the thread of messages that it continues is not kept here",
    "not_found": "there is nothing at this address",
    "method_not_allowed": "the address does not know the method",
    "invalid_api_key": "the client's key is not one of server.api_keys",
    "forbidden_origin": "the origin is not allowed",
    "misdirected_request": "the host is not allowed",
    "unsupported_media_type": "the body was not JSON, or in an encoding that is not read",
    "body_too_large": "the request was larger than its limit",
    "client_gone": "the client closed the connection",
    "response_cancelled": "the response was cancelled",
    "invalid_stream_id": "the stream's id was not valid",
    "websocket_stream_limit_reached": "the connection has used all its stream ids",
    "websocket_unavailable": "WebSocket is switched off",
    "context_length_exceeded": "the request is longer than the model's context window",
    "upstream_rejected": "the upstream refused the request, and would again",
    "upstream_auth": "the upstream refused the key",
    "upstream_not_found": "the upstream does not have the model, or not at this address",
    "insufficient_quota": "the account's quota is used up",
    "rate_limit_exceeded": "a rate limit was reached",
    "upstream_unreachable": "the upstream could not be reached",
    "upstream_error": "the upstream reported an error of its own",
    "upstream_overloaded": "the upstream was overloaded",
    "upstream_timeout": "the upstream sent nothing for too long",
    "upstream_closed": "the upstream's answer broke off",
    "upstream_empty": "the upstream answered without any content",
    "upstream_invalid_response": "the upstream's answer could not be read",
    "upstream_too_large": "the upstream's answer was larger than its limit",
    "invalid_tool_arguments": "the model's tool call could not be used",
    "internal_error": "the proxy made a mistake; its log has the details",
    "server_shutdown": "the proxy was stopped",
    "store_failed": "the store did not take or give what was needed",
}
"""By failure code."""

LESSONS: Final[dict[str, str]] = {
    "drop": "a field that this upstream refuses was left out",
    "tokens": "the limit of output tokens went under the name that it knows",
    "effort": "an effort that it does not know became the nearest one",
    "efforts": "an effort that it does not know became the nearest one",
    "output_limit": "it gives only so many tokens of answer",
    "output_room": "only as long an answer was asked for as fits beside the prompt",
    "schema": "tool schemas were written as it wants them",
    "tool_limit": "it takes only so many tools",
    "replay_reasoning": "it wants earlier reasoning back",
    "tool_choice": "it does not take that tool choice",
    "no_betas": "it does not know what the client asked for in a header",
    "image_side": "larger images were left out",
    "image_length": "larger images were left out",
    "call_ids": "it takes only shorter ids of calls",
    "known_fields": "it knows only the plain fields of its format",
    "unspoken": "it does not speak the client's format",
}
"""By the first part of a lesson's id; the others say it themselves."""

REPAIRS: Final[dict[str, str]] = {
    **{rule.id: rule.recognises for rule in reversed(RULES)},
    "drifted_name": "the name of the tool was nearly right",
}
"""By the id of the rule: what was found in the call."""


def with_meaning(name: str, meaning: str | None) -> str:
    """``name, meaning``, or the name alone."""
    return f"{name}, {meaning}" if meaning else name
