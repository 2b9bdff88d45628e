"""agentic-proxy: one local program between a coding agent and any model."""

__version__ = "0.1.0"
