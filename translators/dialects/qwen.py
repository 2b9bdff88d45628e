"""Qwen on DashScope (Alibaba Cloud Model Studio): thinking as a boolean; a forced tool is refused while thinking."""

from __future__ import annotations

from translators.dialects.base import Dialect

QWEN = Dialect(
    name="qwen",
    tool_choice=frozenset({"auto", "none"}),
    files=False,
    later_system=False,
    reasoning="enable_thinking",
)


def qwen(model: str) -> Dialect:
    """The dialect of a Qwen model."""
    return QWEN
