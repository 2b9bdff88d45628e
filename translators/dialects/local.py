"""Servers for models on one's own machine: Ollama, vLLM, LM Studio (their documentation) and llama.cpp (measured)."""

from __future__ import annotations

from translators.dialects.base import ALL_CHOICES, Dialect

_PLAIN_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})

OLLAMA = Dialect(
    name="ollama",
    refused=frozenset({"user", "top_logprobs"}),
    tool_choice=frozenset(),
    parallel_tool_calls=False,
    strict_tools=False,
    files=False,
    schema=frozenset({"no_bool", "no_type_arrays"}),
    items=_PLAIN_ITEMS,
    efforts=frozenset({"none", "low", "medium", "high"}),
    effort_map={"minimal": "low", "xhigh": "high", "max": "high", "ultra": "high"},
    replay="reasoning",
    silent_overflow=True,
    encrypted_reasoning="none",
)
"""On its Responses endpoint ``encrypted_content`` is plain text that the model reads: another's must never go there."""
VLLM = Dialect(
    name="vllm",
    strict_tools=False,
    schema=frozenset({"no_bool"}),
    files=False,
    later_system=False,
    plain_items=True,
    empty_messages=False,
    items=_PLAIN_ITEMS,
)
LM_STUDIO = Dialect(
    name="lm-studio",
    tool_choice=frozenset({"auto", "none", "required"}),
    parallel_tool_calls=False,
    schema=frozenset({"no_bool"}),
    files=False,
    later_system=False,
    items=_PLAIN_ITEMS,
)
LLAMA_CPP = Dialect(
    name="llama.cpp",
    tool_choice=ALL_CHOICES - {"named", "allowed"},
    schema=frozenset({"no_bool"}),
    files=False,
    later_system=False,
    items=_PLAIN_ITEMS - {"reasoning"},
)


def ollama(model: str) -> Dialect:
    """Ollama, whatever the model."""
    return OLLAMA


def vllm(model: str) -> Dialect:
    """vLLM, whatever the model."""
    return VLLM


def lm_studio(model: str) -> Dialect:
    """LM Studio, whatever the model."""
    return LM_STUDIO


def llama_cpp(model: str) -> Dialect:
    """llama.cpp's server, whatever the model."""
    return LLAMA_CPP
