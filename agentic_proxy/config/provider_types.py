"""What is known of each provider type before a line is configured. Addresses are the providers' documented ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from agentic_proxy.config.addresses import is_loopback
from agentic_proxy.config.model import Wire

NOWHERE_ELSE: Mapping[str, str] = MappingProxyType({})


class ProviderType(NamedTuple):
    """What a type is by default, and which wires it may be spoken to in.

    Attributes:
        base_url: None: no usual address; empty: needs none.
        wire: What it is spoken to in unless the configuration says otherwise.
        built: The wires that the configuration may name.
        uncertain: Those of them that its documentation does not have: ``auto`` passes over them.
        elsewhere: Where a wire is not below the base URL: its path from the origin.
    """

    base_url: str | None
    wire: Wire
    built: frozenset[str] = frozenset()
    appends_v1: bool = True
    uncertain: frozenset[str] = frozenset()
    elsewhere: Mapping[str, str] = NOWHERE_ELSE

    def address(self, wire: str, base_url: str) -> str:
        """The base URL of one wire of a provider at ``base_url``. Where the type keeps a wire elsewhere, it does so at
        its usual path only: the same service on another host has the same paths."""
        path = self.elsewhere.get(wire)
        given = urlsplit(base_url)
        if path is None or given.path != urlsplit(self.base_url or "").path:
            return base_url
        return f"{given.scheme}://{given.netloc}{path}"

    def by_client(self, base_url: str) -> dict[str, str]:
        """For ``wire: auto``: the base URL by wire, the type's own wire first."""
        wires = sorted(self.built - self.uncertain, key=lambda wire: (wire != self.wire, wire))
        return {wire: self.address(wire, base_url) for wire in wires}


_BOTH: frozenset[str] = frozenset({"responses", "chat"})
_CHAT: frozenset[str] = frozenset({"chat"})
_MESSAGES: frozenset[str] = frozenset({"messages"})
_ALL: frozenset[str] = _BOTH | _MESSAGES
_RESPONSES: frozenset[str] = frozenset({"responses"})

LOCAL = "local"
"""No type: a plain provider on this machine."""

TYPES: dict[str, ProviderType] = {
    "openai-compatible": ProviderType(None, "chat", _ALL),
    "openai": ProviderType("https://api.openai.com/v1", "responses", _BOTH),
    "xai": ProviderType("https://api.x.ai/v1", "responses", _BOTH),
    "meta": ProviderType("https://api.meta.ai/v1", "responses", _BOTH),
    "kimi": ProviderType(
        "https://api.moonshot.ai/v1", "chat", _ALL, uncertain=_RESPONSES, elsewhere={"messages": "/anthropic/v1"}
    ),
    # Messages clients are given the host alone and add /v1/messages themselves.
    "anthropic": ProviderType("https://api.anthropic.com", "messages", _MESSAGES, appends_v1=False),
    "demo": ProviderType("", "chat", _CHAT),
    "deepseek": ProviderType("https://api.deepseek.com/v1", "chat", _ALL, elsewhere={"messages": "/anthropic/v1"}),
    "openrouter": ProviderType("https://openrouter.ai/api/v1", "chat", _ALL),
    "minimax": ProviderType("https://api.minimax.io/v1", "chat", _ALL, elsewhere={"messages": "/anthropic/v1"}),
    "zai": ProviderType(
        "https://api.z.ai/api/paas/v4", "chat", _CHAT | _MESSAGES, elsewhere={"messages": "/api/anthropic/v1"}
    ),
    "qwen": ProviderType(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "chat",
        _ALL,
        elsewhere={
            "responses": "/api/v2/apps/protocols/compatible-mode/v1",
            "messages": "/apps/anthropic/v1",
        },
    ),
    "mistral": ProviderType("https://api.mistral.ai/v1", "chat", _CHAT),
    "groq": ProviderType("https://api.groq.com/openai/v1", "chat", _BOTH, uncertain=_RESPONSES),
    "gemini": ProviderType("https://generativelanguage.googleapis.com/v1beta/openai", "chat", _CHAT),
    "ollama": ProviderType("http://127.0.0.1:11434/v1", "chat", _ALL),
    "vllm": ProviderType("http://127.0.0.1:8000/v1", "chat", _ALL),
    "lm-studio": ProviderType("http://127.0.0.1:1234/v1", "chat", _ALL),
    "llama.cpp": ProviderType("http://127.0.0.1:8080/v1", "chat", _ALL),
}
BUILT_IN: Final = frozenset(TYPES)
"""Those that no plugin brought."""


@lru_cache(maxsize=256)
def known_as(kind: str, base_url: str) -> str:
    """Who a provider of type ``kind`` really is: a plain one is LOCAL on this machine, or the type at whose usual host
    it is."""
    if kind != "openai-compatible":
        return kind
    host = urlsplit(base_url).hostname or ""
    if is_loopback(host):
        return LOCAL
    usual = {urlsplit(known.base_url or "").hostname: name for name, known in TYPES.items() if known.base_url}
    return usual.get(host, kind)
