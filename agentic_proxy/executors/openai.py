"""OpenAI itself, and servers that speak its Responses API."""

from __future__ import annotations

from agentic_proxy.executors.openai_compat import OpenAICompatible
from translators.dialects.openai import OPENAI


class OpenAI(OpenAICompatible):
    """``/responses`` by default; newer Chat fields when asked to speak Chat Completions."""

    dialect = OPENAI
