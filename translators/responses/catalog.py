"""Entries of the two model lists that one body carries: OpenAI's ``data`` and Codex's ``models``.

Wire facts (Codex CLI 0.171.0): required are slug, display_name, supported_reasoning_levels, shell_type, visibility,
supported_in_api, priority, base_instructions, support_verbosity, truncation_policy and experimental_supported_tools;
``apply_patch_tool_type`` only takes ``freeform``; a body with both ``data`` and ``models`` is accepted.
"""

from __future__ import annotations

from translators.events import Json
from translators.responses.base_instructions import BASE_INSTRUCTIONS

DEFAULT_CONTEXT_WINDOW = 128_000
"""Tokens, for a model whose window nobody stated: without one Codex would never compact."""

REASONING_LEVELS: tuple[Json, ...] = (
    {"effort": "low", "description": "Fast answers with little reasoning"},
    {"effort": "medium", "description": "Balances speed and reasoning depth"},
    {"effort": "high", "description": "Reasons longest, for hard problems"},
)
"""Offered for every model; there is no default level, so Codex sends an effort only when the user chose one."""


def codex_entry(name: str, priority: int, context_window: int | None, images: bool | None) -> Json:
    """One catalog entry for the routable ``name``. ``priority`` orders Codex's picker (1 first); ``context_window``
    is in tokens; ``images`` None means nobody knows, so Codex is told text only. Equal input gives equal output."""
    window = context_window or DEFAULT_CONTEXT_WINDOW
    return {
        "slug": name,
        "display_name": name,
        "supported_reasoning_levels": [dict(level) for level in REASONING_LEVELS],
        "default_reasoning_summary": "auto",
        "supports_reasoning_summaries": True,
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "base_instructions": BASE_INSTRUCTIONS,
        "apply_patch_tool_type": "freeform",
        "web_search_tool_type": "text",
        "supports_search_tool": False,
        "supports_parallel_tool_calls": True,
        "support_verbosity": False,
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "context_window": window,
        "max_context_window": window,
        "effective_context_window_percent": 95,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"] if images else ["text"],
        "use_responses_lite": False,
    }


def openai_entry(name: str, owner: str) -> Json:
    """One entry of OpenAI's list. ``created`` is 0: no upstream tells when a model was made in a form to trust."""
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}
