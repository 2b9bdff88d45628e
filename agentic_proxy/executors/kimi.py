"""Kimi / Moonshot: the platform hosts and the coding plan, with an API key and under our own name.

The platform's documented wire for everything but Messages is Chat; so ``wire: auto`` means Chat for a Responses client,
and ``wire: responses`` is for the coding host, where other programs use that endpoint.
"""

from __future__ import annotations

from agentic_proxy.config.model import Provider
from agentic_proxy.executors.openai_compat import OpenAICompatible


class Kimi(OpenAICompatible):
    """Chat unless the configuration says otherwise."""

    @staticmethod
    def wire_of(provider: Provider) -> str:
        """``auto`` by client format: the clients there are speak Responses, so Chat."""
        return "chat" if provider.wire == "auto" else provider.wire
