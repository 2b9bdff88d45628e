"""Betas: what a Messages client asks for by header and its body may rely on. Only names that are listed here go up, so
that no client writes a provider's header."""

from __future__ import annotations

__all__ = ["KNOWN", "known"]

KNOWN = frozenset(
    {
        "advanced-tool-use-2025-11-20",
        "claude-code-20250219",
        "compact-2026-01-12",
        "compact-2026-09-04",
        "context-1m-2025-08-07",
        "context-management-2025-06-27",
        "effort-2025-11-24",
        "extended-cache-ttl-2025-04-11",
        "fast-mode-2026-02-01",
        "files-api-2025-04-14",
        "fine-grained-tool-streaming-2025-05-14",
        "interleaved-thinking-2025-05-14",
        "mcp-client-2025-04-04",
        "mcp-client-2025-11-20",
        "mcp-client-2026-09-15",
        "mid-conversation-system-2026-04-07",
        "mid-conversation-system-clear-at-2026-08-21",
        "mid-conversation-tool-changes-2026-07-01",
        "prompt-caching-scope-2026-01-05",
        "structured-outputs-2025-11-13",
        "thinking-token-count-2026-05-13",
        "token-efficient-tools-2025-02-19",
    }
)
"""Names in the official SDK 2.14 and in what Claude Code 2.1.197 and opencode 1.18.33 were recorded to send."""


def known(header: str) -> tuple[str, ...]:
    """The known names of an ``anthropic-beta`` header, in its order."""
    names = (name.strip() for name in header.split(","))
    return tuple(dict.fromkeys(name for name in names if name in KNOWN))
