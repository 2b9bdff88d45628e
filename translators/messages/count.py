"""How many input tokens a Messages request has, estimated: no tokenizer fits every model behind the proxy."""

from __future__ import annotations

from typing import Final

from translators.events import Json
from translators.messages.to_hub import to_hub
from translators.responses.tokens import estimate

__all__ = ["count_tokens"]

TEMPLATE: Final = 24
"""What a chat template says around the shortest conversation (llama.cpp with Qwen2.5, recorded)."""
TOOL_TEMPLATE: Final = 60
"""What it says more when there are tools; Anthropic's own words about tools are longer."""


def count_tokens(body: Json) -> int:
    """The estimate for a ``POST /v1/messages/count_tokens`` body. Raises Failure ``invalid_request_error``."""
    hub = to_hub(body)[0]
    return estimate(hub) + TEMPLATE + (TOOL_TEMPLATE if hub.get("tools") else 0)
