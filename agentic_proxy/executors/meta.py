"""Meta Model API: ``/responses`` with an API key, always streamed (a request without ``stream`` stays silent for its
whole reasoning phase; the engine assembles the answer for a client that wants one object)."""

from __future__ import annotations

from agentic_proxy.executors.openai_compat import OpenAICompatible


class Meta(OpenAICompatible):
    """The plain executor; what is Meta's own is in its dialect."""
