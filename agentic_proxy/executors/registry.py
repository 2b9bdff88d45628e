"""Executors by provider type: one line each. A provider that differs in its dialect only has none of its own."""

from __future__ import annotations

from collections.abc import Callable

from agentic_proxy.config.model import Provider
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
    """The executor of a provider whose type is built (``provider.available``)."""
    return EXECUTORS[provider.type](provider, transport)
