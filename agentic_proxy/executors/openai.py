"""OpenAI itself, and servers that speak its Responses API: ``/responses`` by default, newer Chat fields."""

from __future__ import annotations

from agentic_proxy.executors.openai_compat import OpenAICompatible


class OpenAI(OpenAICompatible):
    """The plain executor; what is OpenAI's own is in its dialect."""
