"""Generation: a configuration at work. A reload makes the next one; what began with one goes on with it."""

from __future__ import annotations

from dataclasses import dataclass

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.guard import Guard


@dataclass(frozen=True, slots=True)
class Generation:
    """What a request is served with: ``engine`` and ``guard`` are those of ``config``."""

    config: Config
    engine: Engine
    guard: Guard

    @classmethod
    def of(cls, config: Config, engine: Engine) -> Generation:
        """The generation of an engine."""
        return cls(config, engine, Guard(config.server))
