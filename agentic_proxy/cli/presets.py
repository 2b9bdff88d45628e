"""What can be used without a configuration: providers whose API key is in the environment, servers on this machine.

``find`` looks; the result is an ordinary configuration document, so that everything after it is the same as with a
file. Keys stay in the environment: the document says ``${XAI_API_KEY}``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from agentic_proxy.cli.probe import list_models
from agentic_proxy.config.provider_types import TYPES

Json: TypeAlias = dict[str, Any]
PROBE_SECONDS = 0.3
LOCAL_KEY = "AGENTIC_PROXY_LOCAL_KEY"
"""The environment variable with the key of servers that were named. scripts/run makes one for the server it starts."""


class Cloud(NamedTuple):
    """A provider by the environment variable of its key. ``chat``: its address also speaks plain Chat Completions.
    ``model``: for requests that name none, "" where nobody can say."""

    type: str
    variable: str
    model: str
    chat: bool = True


CLOUDS: tuple[Cloud, ...] = (
    Cloud("xai", "XAI_API_KEY", "grok-4.7"),
    Cloud("kimi", "MOONSHOT_API_KEY", "kimi-k3"),
    Cloud("meta", "MODEL_API_KEY", "muse-spark-1.3"),
    Cloud("openai", "OPENAI_API_KEY", "gpt-5.5"),
    Cloud("anthropic", "ANTHROPIC_API_KEY", "", chat=False),
    Cloud("deepseek", "DEEPSEEK_API_KEY", "deepseek-v4-pro"),
    Cloud("openrouter", "OPENROUTER_API_KEY", ""),
    Cloud("minimax", "MINIMAX_API_KEY", "MiniMax-M3"),
    Cloud("zai", "ZAI_API_KEY", "glm-5.3"),
    Cloud("qwen", "DASHSCOPE_API_KEY", ""),
    Cloud("mistral", "MISTRAL_API_KEY", ""),
    Cloud("groq", "GROQ_API_KEY", ""),
    Cloud("gemini", "GEMINI_API_KEY", ""),
)
"""In the order in which they are preferred; addresses are those of ``config.provider_types``."""

LOCAL_TYPES = ("ollama", "vllm", "lm-studio", "llama.cpp")
"""Servers that are looked for at their usual address."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found. ``lines`` say it to a person, one each; ``document`` is the configuration that uses it."""

    lines: tuple[str, ...]
    document: Json


async def find(environ: Mapping[str, str], servers: Sequence[str] = (), addresses: Mapping[str, str] = {}) -> Found:
    """Look for keys in ``environ`` and for servers on this machine; takes at most ``PROBE_SECONDS`` and a little.

    Args:
        servers: Base URLs of further servers that speak Chat Completions; taken without asking them.
        addresses: Where the local servers are looked for instead of at their usual address, by type; for tests.
    """
    places = {kind: addresses.get(kind, TYPES[kind].base_url or "") for kind in LOCAL_TYPES}
    answers = await asyncio.gather(*(list_models(place, PROBE_SECONDS) for place in places.values()))
    listed = dict(zip(places, answers, strict=True))
    lines: list[str] = []
    providers: list[Json] = []
    defaults: list[str] = []
    for number, url in enumerate(servers, start=1):
        name = "local" if number == 1 else f"local-{number}"
        lines.append(f"{name}: the server at {url}")
        entry: Json = {"name": name, "type": "openai-compatible", "base_url": url}
        providers.append({**entry, "api_key": f"${{{LOCAL_KEY}}}"} if environ.get(LOCAL_KEY) else entry)
    for cloud in CLOUDS:
        if not environ.get(cloud.variable, "").strip():
            continue
        known = cloud_entry(cloud)
        if known is None:
            lines.append(f"{cloud.type}: {cloud.variable} is set, but this provider is not available yet")
            continue
        lines.append(f"{cloud.type}: {cloud.variable} is set" + ("" if known["type"] == cloud.type else _PLAIN))
        providers.append(known)
        defaults += [f"{cloud.type}/{cloud.model}"] if cloud.model else []
    for kind, models in listed.items():
        if models is not None:
            lines.append(f"{kind}: a server at {places[kind]}{_models_text(models)}")
            providers.append(local_entry(kind, places[kind]))
            defaults += [f"{kind}/{models[0]}"] if models else []
    document: Json = {"providers": providers}
    if not providers:
        lines.append("no API key in the environment and no model server on this machine: the demo model answers")
        providers.append({"name": "demo", "type": "demo"})
    if defaults and not servers:
        document["models"] = {"default": defaults[0]}
    return Found(tuple(lines), document)


_PLAIN = " (spoken to in plain Chat Completions)"


def cloud_entry(cloud: Cloud) -> Json | None:
    """The provider's configuration: its own type, else plain Chat Completions at its address, else None."""
    kind = TYPES[cloud.type]
    entry: Json = {"name": cloud.type, "type": cloud.type, "api_key": f"${{{cloud.variable}}}"}
    if kind.wire in kind.built:
        return entry
    return {**entry, "type": "openai-compatible", "base_url": kind.base_url} if cloud.chat else None


def local_entry(name: str, url: str) -> Json:
    """The configuration of a server on this machine."""
    kind = TYPES[name]
    return {"name": name, "type": name if kind.wire in kind.built else "openai-compatible", "base_url": url}


def _models_text(models: list[str]) -> str:
    if not models:
        return " without a model"
    more = f" and {len(models) - 3} more" if len(models) > 3 else ""
    return f" with {', '.join(models[:3])}{more}"
