"""The coding agents by name: one line each."""

from __future__ import annotations

from agentic_proxy.cli.clients.base import Recipe
from agentic_proxy.cli.clients.claude import CLAUDE
from agentic_proxy.cli.clients.codex import CODEX
from agentic_proxy.cli.clients.opencode import OPENCODE
from agentic_proxy.cli.clients.qwen import QWEN

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (CODEX, CLAUDE, OPENCODE, QWEN)}
