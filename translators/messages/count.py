"""How many input tokens a Messages request has, estimated: no tokenizer fits every model behind the proxy."""

from __future__ import annotations

from translators.events import Json
from translators.messages.to_hub import to_hub
from translators.responses.tokens import estimate

__all__ = ["count_tokens"]


def count_tokens(body: Json) -> int:
    """The estimate for a ``POST /v1/messages/count_tokens`` body. Raises Failure ``invalid_request_error``."""
    return estimate(to_hub(body)[0])
