"""GatewayTools: what the proxy's own tools share over all turns: the search provider, the MCP servers, the tools of
plugins, the permits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from agentic_proxy.config.model import Config, Provider
from agentic_proxy.executors.outbound import outbound_proxy
from agentic_proxy.executors.tls import client_context
from agentic_proxy.routing.models import Target
from agentic_proxy.tools.mcp import McpServers
from agentic_proxy.tools.plugin import PLUGIN_TOOLS
from agentic_proxy.tools.web_search.search import PROVIDERS, Searcher
from translators.gateway.own import OwnTool
from translators.registry import UPSTREAMS

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine

PER_RESPONSE: Final = 5
"""Calls of one response that run at the same time."""
PER_PROCESS: Final = 16
"""Calls of all responses that run at the same time."""


class GatewayTools:
    """Made once per configuration; opens nothing before it is needed."""

    def __init__(self, config: Config) -> None:
        self.permits = asyncio.Semaphore(PER_PROCESS)
        self.mcp = McpServers(config.tools.mcp, client_context)
        self.searcher: Searcher | None = None
        search = config.tools.web_search
        if search is not None:
            key = search.api_key.reveal() if search.api_key is not None else ""
            provider = PROVIDERS[search.provider]
            self.searcher = Searcher(provider, search.base_url, key, tls=client_context, proxy=_proxy)
        self.plugins = dict(PLUGIN_TOOLS) if config.plugins else {}
        self._always = config.tools.offer

    def of_plugins(self, declared: Iterable[str], *, always: bool) -> dict[str, OwnTool]:
        """The tools of plugins for a request that declares these functions; ``always``: with those that the
        configuration offers to every model."""
        # Those first: what a conversation declares later is then behind what its models saw before.
        names = dict.fromkeys([*(self._always if always else ()), *declared])
        return {name: self.plugins[name].own for name in names if name in self.plugins}

    async def close(self) -> None:
        """End what is open."""
        if self.searcher is not None:
            await self.searcher.close()
        await self.mcp.close()


def native(engine: Engine, target: Target) -> bool:
    """Whether an upstream takes a Responses client's tools as they are and runs the hosted ones itself."""
    executor = engine.executor(target, "responses")
    if not UPSTREAMS[executor.wire].native_tools or target.provider.custom_tools != "native":
        return False
    return not executor.dialect_of(target.upstream_model).functions_only


def _proxy(url: str) -> str | None:
    """The outbound proxy that the environment names."""
    return outbound_proxy(Provider("web_search", "", url))
