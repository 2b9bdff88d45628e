"""Finish reasons of Chat Completions hosts, in lower case: what each means for the response.

A reason in none of the tables counts as a normal stop. Sources: the hosts' API references and public SDKs.
"""

from __future__ import annotations

from typing import Any, Final

from translators.chat.faults import inner_error
from translators.failure import Failure
from translators.upstream_errors import from_error_object

__all__ = ["CALLING", "INCOMPLETE_REASONS", "NO_ANSWER", "no_call", "no_room", "refuse"]

INCOMPLETE_REASONS: Final[dict[str, str]] = {
    "length": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",
    "model_context_window_exceeded": "max_output_tokens",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    # Gemini, whose own reasons some gateways hand on
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "recitation": "content_filter",
}
"""Reason -> why the response is incomplete."""
CALLING: Final = frozenset({"tool_calls", "function_call"})
"""The model called tools and waits for their results."""
_FAILED: Final = frozenset({"error", "network_error", "insufficient_system_resource"})
"""The host gave up."""
_NO_CALL: Final = frozenset({"malformed_function_call", "unexpected_tool_call"})
"""The model wrote a tool call that its own host could not read (Gemini); nothing of it is in the answer."""
NO_ANSWER: Final = _FAILED | _NO_CALL


def refuse(reason: str, choice: dict[str, Any]) -> None:
    """Raises Failure for a reason with which there is no answer: ``invalid_tool_arguments``, ``upstream_error``, or
    what the ``error`` beside it says."""
    if reason in _FAILED:
        if choice.get("error"):
            raise from_error_object(inner_error(choice))
        raise Failure("upstream_error", f"The upstream gave up with finish_reason {reason}.")
    if reason in _NO_CALL:
        text = f"The model's tool call could not be read by its own host (finish_reason {reason})."
        raise Failure("invalid_tool_arguments", text, retry_same=True)


def no_call() -> Failure:
    """The Failure for an answer that ends with a call and holds neither a call nor a word: an agent would take it for
    the end of its work (vllm-project/vllm#53255, earendil-works/pi#9681)."""
    text = "The upstream says that the model called a tool, and sent no call."
    return Failure("invalid_tool_arguments", text, retry_same=True)


def no_room() -> Failure:
    """The Failure for a prompt that was cut to the context, where an answer without a word is the only sign of it."""
    return Failure(
        "context_length_exceeded",
        "The prompt fills the context that the model was loaded with, so there was no room for an answer. Give the "
        "model a longer context where it runs (Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx in its Modelfile).",
    )
