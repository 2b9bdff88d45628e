"""What is known of each provider type before a line is configured. Addresses are the providers' documented ones."""

from __future__ import annotations

from typing import NamedTuple

from agentic_proxy.config.model import Wire


class ProviderType(NamedTuple):
    """``base_url`` None: no usual address; empty: needs none. ``built``: the wires that can be spoken today."""

    base_url: str | None
    wire: Wire
    built: frozenset[str] = frozenset()
    appends_v1: bool = True


_BOTH: frozenset[str] = frozenset({"responses", "chat"})
_CHAT: frozenset[str] = frozenset({"chat"})
_MESSAGES: frozenset[str] = frozenset({"messages"})

TYPES: dict[str, ProviderType] = {
    "openai-compatible": ProviderType(None, "chat", _BOTH),
    "openai": ProviderType("https://api.openai.com/v1", "responses", _BOTH),
    "xai": ProviderType("https://api.x.ai/v1", "responses", _BOTH),
    "meta": ProviderType("https://api.meta.ai/v1", "responses", _BOTH),
    "kimi": ProviderType("https://api.moonshot.ai/v1", "chat", _BOTH | {"auto"}),
    # Messages clients are given the host alone and add /v1/messages themselves.
    "anthropic": ProviderType("https://api.anthropic.com", "messages", _MESSAGES, appends_v1=False),
    "demo": ProviderType("", "chat", _CHAT),
    "deepseek": ProviderType("https://api.deepseek.com/v1", "chat", _BOTH),
    "openrouter": ProviderType("https://openrouter.ai/api/v1", "chat", _BOTH),
    "minimax": ProviderType("https://api.minimax.io/v1", "chat", _BOTH),
    "zai": ProviderType("https://api.z.ai/api/paas/v4", "chat", _CHAT),
    "qwen": ProviderType("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "chat", _BOTH),
    "mistral": ProviderType("https://api.mistral.ai/v1", "chat", _CHAT),
    "groq": ProviderType("https://api.groq.com/openai/v1", "chat", _BOTH),
    "gemini": ProviderType("https://generativelanguage.googleapis.com/v1beta/openai", "chat", _CHAT),
    "ollama": ProviderType("http://127.0.0.1:11434/v1", "chat", _BOTH),
    "vllm": ProviderType("http://127.0.0.1:8000/v1", "chat", _BOTH),
    "lm-studio": ProviderType("http://127.0.0.1:1234/v1", "chat", _BOTH),
    "llama.cpp": ProviderType("http://127.0.0.1:8080/v1", "chat", _BOTH),
}
