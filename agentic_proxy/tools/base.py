"""What the engine knows of the tools that the proxy runs itself."""

from __future__ import annotations

from typing import Protocol

from translators.gateway.own import OwnTool, Ran

CALL_LIMIT = 60.0
"""Seconds that one call may take, waiting for its turn not counted."""


class ToolError(Exception):
    """A tool did not do what it should. The text is for the model and for people: no secret, no markup."""


class GatewayTool(Protocol):
    """One tool, or one server of tools, for one turn."""

    async def run(self, own: OwnTool, arguments: str) -> Ran:
        """Run one call with the arguments as the model wrote them. Never raises for what the call or the other side
        did wrong: that is a ``Ran`` with an ``error``."""
        ...
