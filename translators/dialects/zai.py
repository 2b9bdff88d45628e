"""Z.ai / GLM (docs.z.ai): thinking as a switch, GLM-5.2 and later with levels."""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

ZAI = Dialect(
    name="zai",
    refused=frozenset({"presence_penalty", "frequency_penalty", "seed", "top_logprobs"}),
    json_schema=False,
    tool_choice=frozenset({"auto"}),
    parallel_tool_calls=False,
    strict_tools=False,
    later_system=False,
    reasoning="thinking",
)
_LEVELS: dict[str, Dialect] = {
    "glm-5.2": replace(
        ZAI,
        reasoning="thinking_effort",
        efforts=frozenset({"none", "high", "max"}),
        effort_map={"minimal": "high", "low": "high", "medium": "high", "xhigh": "max", "ultra": "max"},
    ),
    "glm-5.3": replace(
        ZAI,
        reasoning="thinking_effort",
        thinking_off=False,
        efforts=frozenset({"low", "high", "max"}),
        effort_map={"none": "low", "minimal": "low", "medium": "high", "xhigh": "max", "ultra": "max"},
    ),
}


def zai(model: str) -> Dialect:
    """The dialect of one of Z.ai's models."""
    return next((dialect for prefix, dialect in _LEVELS.items() if model.startswith(prefix)), ZAI)
