"""Kimi / Moonshot: the platform hosts and the coding plan, with an API key and under our own name.

Chat everywhere. The platform has Messages beside it (public API documentation); Responses was found only on the coding
host, where other programs use it, so it must be asked for by ``wire``.
"""

from __future__ import annotations

from agentic_proxy.executors.openai_compat import OpenAICompatible


class Kimi(OpenAICompatible):
    """The plain executor; what is Kimi's own is in its dialect."""
