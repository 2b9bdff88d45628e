"""xAI: ``/responses`` with an API key. Its limits, fields and names are in ``translators/dialects/xai.py``.

A request's conversation is named by ``prompt_cache_key`` in a Responses body and by a header in Chat (docs.x.ai, prompt
caching); the dialect says so and the translation makes the header.
"""

from __future__ import annotations

from agentic_proxy.executors.openai_compat import OpenAICompatible


class XAI(OpenAICompatible):
    """The plain executor; what is xAI's own is in its dialect."""
