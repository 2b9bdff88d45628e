"""Executors by provider type: one line each."""

from __future__ import annotations

from collections.abc import Callable

from agentic_proxy.config.model import Provider
from agentic_proxy.executors.base import Executor, Transport
from agentic_proxy.executors.demo import Demo
from agentic_proxy.executors.openai import OpenAI
from agentic_proxy.executors.openai_compat import OpenAICompatible

EXECUTORS: dict[str, Callable[[Provider, Transport], Executor]] = {
    "openai-compatible": OpenAICompatible,
    "openai": OpenAI,
    "demo": Demo,
}


def make_executor(provider: Provider, transport: Transport) -> Executor:
    """The executor of a provider whose type is built (``provider.available``)."""
    return EXECUTORS[provider.type](provider, transport)
