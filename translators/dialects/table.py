"""Dialects by provider type: one line each. A plugin adds its own line."""

from __future__ import annotations

from collections.abc import Callable

from translators.dialects.anthropic import anthropic
from translators.dialects.base import Dialect
from translators.dialects.deepseek import deepseek
from translators.dialects.gemini import gemini
from translators.dialects.generic import generic
from translators.dialects.groq import groq
from translators.dialects.kimi import kimi
from translators.dialects.local import llama_cpp, lm_studio, ollama, vllm
from translators.dialects.meta import meta
from translators.dialects.minimax import minimax
from translators.dialects.mistral import mistral
from translators.dialects.openai import openai
from translators.dialects.openrouter import openrouter
from translators.dialects.qwen import qwen
from translators.dialects.xai import xai
from translators.dialects.zai import zai

DIALECTS: dict[str, Callable[[str], Dialect]] = {
    "openai-compatible": generic,
    "openai": openai,
    "xai": xai,
    "meta": meta,
    "kimi": kimi,
    "anthropic": anthropic,
    "deepseek": deepseek,
    "openrouter": openrouter,
    "minimax": minimax,
    "zai": zai,
    "qwen": qwen,
    "mistral": mistral,
    "groq": groq,
    "gemini": gemini,
    "ollama": ollama,
    "vllm": vllm,
    "lm-studio": lm_studio,
    "llama.cpp": llama_cpp,
}
"""Provider type -> dialect of a model, by the name that the provider knows it by."""
