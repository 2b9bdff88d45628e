"""Executors by provider type: one line each. A provider that differs in its dialect only has none of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from agentic_proxy.config.model import Provider, Wire
from agentic_proxy.executors.anthropic import Anthropic
from agentic_proxy.executors.base import Executor, Transport
from agentic_proxy.executors.demo import Demo
from agentic_proxy.executors.kimi import Kimi
from agentic_proxy.executors.meta import Meta
from agentic_proxy.executors.openai import OpenAI
from agentic_proxy.executors.openai_compat import OpenAICompatible
from agentic_proxy.executors.xai import XAI

EXECUTORS: dict[str, Callable[[Provider, Transport], Executor]] = {
    "openai-compatible": OpenAICompatible,
    "openai": OpenAI,
    "xai": XAI,
    "meta": Meta,
    "kimi": Kimi,
    "anthropic": Anthropic,
    "deepseek": OpenAICompatible,
    "openrouter": OpenAICompatible,
    "minimax": OpenAICompatible,
    "zai": OpenAICompatible,
    "qwen": OpenAICompatible,
    "mistral": OpenAICompatible,
    "groq": OpenAICompatible,
    "gemini": OpenAICompatible,
    "ollama": OpenAICompatible,
    "vllm": OpenAICompatible,
    "lm-studio": OpenAICompatible,
    "llama.cpp": OpenAICompatible,
    "demo": Demo,
}


def make_executor(provider: Provider, transport: Transport) -> Executor:
    """The executor of a provider whose type is built (``provider.available``). With ``wire: auto`` it speaks the type's
    own wire."""
    own = next(iter(provider.by_client), None)
    return EXECUTORS[provider.type](provider if own is None else _speaking(provider, own), transport)


def executors_by_client(provider: Provider, transport: Transport) -> dict[str, Executor]:
    """With ``wire: auto``: who asks the provider for clients of these formats; ``make_executor``'s serves the others.

    Empty with any other wire.
    """
    make = EXECUTORS[provider.type]
    return {wire: make(_speaking(provider, wire), transport) for wire in list(provider.by_client)[1:]}


def _speaking(provider: Provider, wire: str) -> Provider:
    return replace(provider, wire=cast(Wire, wire), base_url=provider.by_client[wire], by_client={})
