"""Anthropic and servers that speak its Messages API: ``/v1/messages``, the key as ``x-api-key``."""

from __future__ import annotations

from agentic_proxy.config.model import Provider
from agentic_proxy.executors.openai_compat import OpenAICompatible


class Anthropic(OpenAICompatible):
    """A Messages endpoint. ``base_url`` is the host alone, as Messages clients are given it, or with /v1."""

    @staticmethod
    def base_of(provider: Provider) -> str:
        """The address with the /v1 that this API always has."""
        return provider.base_url.removesuffix("/v1") + "/v1"

    @staticmethod
    def key_header(key: str) -> dict[str, str]:
        """Anthropic's own header; a Bearer key is the newer form, which older servers do not know."""
        return {"x-api-key": key}
