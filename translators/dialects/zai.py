"""Z.ai / GLM (docs.z.ai): thinking as a switch, GLM-5.2 and later with levels.

A history without a user's message is "illegal" (code 1214; anomalyco/opencode#2557). Models that do not see refuse a
request with an image by a code that says nothing more ("Invalid API parameter").
"""

from __future__ import annotations

import re
from dataclasses import replace

from translators.dialects.base import Dialect

ZAI = Dialect(
    name="zai",
    refused=frozenset({"presence_penalty", "frequency_penalty", "seed", "top_logprobs"}),
    json_schema=False,
    tool_choice=frozenset({"auto"}),
    parallel_tool_calls=False,
    strict_tools=False,
    images=False,
    files=False,
    later_system=False,
    user_needed=True,
    reasoning="thinking",
)
_SEES = re.compile(r"glm-[\d.]+v|glm-5\.3-flash")
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
    made = next((dialect for prefix, dialect in _LEVELS.items() if model.startswith(prefix)), ZAI)
    return replace(made, images=True, images_known=True) if _SEES.match(model) else made
