"""Registries: what a plugin may add, by the same tables that the built-in ones stand in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agentic_proxy.config.model import Provider
from agentic_proxy.config.provider_types import TYPES, ProviderType
from agentic_proxy.config.tools import OWN_TOOLS, SEARCH_PROVIDERS, SearchProvider
from agentic_proxy.executors.base import Executor, Transport
from agentic_proxy.executors.openai_compat import OpenAICompatible
from agentic_proxy.executors.registry import EXECUTORS
from agentic_proxy.tools.plugin import PLUGIN_TOOLS, PluginTool
from agentic_proxy.tools.web_search import base as web_search
from agentic_proxy.tools.web_search.search import PROVIDERS
from translators.dialects.base import Dialect
from translators.dialects.generic import generic
from translators.dialects.table import DIALECTS
from translators.registry import ClientFormat, UpstreamFormat, register_client, register_upstream


def register_provider(
    name: str,
    kind: ProviderType,
    *,
    dialect: Callable[[str], Dialect] = generic,
    executor: Callable[[Provider, Transport], Executor] = OpenAICompatible,
) -> None:
    """Make a provider type known: ``type: NAME`` in the configuration. The same name again replaces it.

    Args:
        kind: Its address and the wires that it speaks.
        dialect: How one of its models, by the provider's own name for it, wants its requests.
        executor: Who calls it; made once per provider of the configuration.
    """
    TYPES[name], DIALECTS[name], EXECUTORS[name] = kind, dialect, executor


def register_search_provider(provider: web_search.Provider) -> None:
    """Make a search provider known: ``tools.web_search.provider: NAME``. The same name again replaces it.

    One with ``needs_key`` needs an ``api_key`` in the configuration, one without a ``base_url`` of its own needs that.
    """
    SEARCH_PROVIDERS[provider.name] = SearchProvider(provider.base_url, provider.needs_key)
    PROVIDERS[provider.name] = provider


def register_tool(
    name: str, *, description: str, parameters: dict[str, Any], run: Callable[[dict[str, Any]], Awaitable[Any]]
) -> None:
    """Make a tool known that the proxy runs itself. The same name again replaces it.

    A request that declares a function of this name gets it; with ``tools.offer: [NAME]`` every request does. The model
    sees ``description`` and ``parameters``, whatever the request says of the function; the client sees an ``mcp_call``.

    Args:
        parameters: The JSON schema of the arguments; its ``type`` is ``object``. What it refers to must be in it:
            nothing is fetched.
        run: Awaited with the arguments, which fit the schema, for at most 60 seconds; returns a text, or anything that
            JSON can hold, and raises ``agentic_proxy.tools.base.ToolError`` with a text for the model.
    Raises:
        ValueError: the name or the schema is none.
    """
    PLUGIN_TOOLS[name] = PluginTool(name, description, parameters, run)
    OWN_TOOLS.add(name)


@dataclass(frozen=True, slots=True)
class Registries:
    """What a plugin's ``register`` is given."""

    register_provider: Callable[..., None] = register_provider
    register_client: Callable[[ClientFormat], None] = register_client
    register_upstream: Callable[[UpstreamFormat], None] = register_upstream
    register_tool: Callable[..., None] = register_tool
    register_search_provider: Callable[[web_search.Provider], None] = register_search_provider
