"""DeepSeek (api-docs.deepseek.com: thinking mode, tool calls, Responses; error bodies from public reports).

A thinking request with tools needs the reasoning of every earlier assistant message back.
"""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

DEEPSEEK = Dialect(
    name="deepseek",
    json_schema=False,
    tool_limit=128,
    tool_choice=frozenset({"auto", "none"}),
    parallel_tool_calls=False,
    strict_tools=False,
    files=False,
    images=False,
    later_system=False,
    adjacent_outputs=True,
    thoughts_required=True,
    items=frozenset({"message", "function_call", "function_call_output", "reasoning"}),
    reasoning="thinking_effort",
    efforts=frozenset({"none", "low", "high", "max"}),
    effort_map={"minimal": "low", "medium": "high", "xhigh": "high", "ultra": "max"},
    replay_required="all",
    placeholder="",
)


def deepseek(model: str) -> Dialect:
    """The dialect of one of DeepSeek's models: flash and vision models see images."""
    sees = model == "deepseek-flash" or "vision" in model
    return replace(DEEPSEEK, images=True, images_known=True) if sees else DEEPSEEK
