"""UsageRecord: one line of accounting per upstream attempt, successful or not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Written to the sink before the terminal event goes out. Holds numbers and names, never text of a conversation.

    ``at`` is Unix seconds, ``seconds`` the attempt's duration; ``code`` None means success.
    """

    at: float
    response_id: str
    client_format: str
    model: str
    provider: str
    upstream_model: str
    seconds: float
    code: str | None
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    notes: tuple[str, ...] = ()
    """Ids of the rules by which the request was translated."""
    repairs: tuple[str, ...] = ()
    """Ids of the rules by which the model's apply_patch calls were repaired."""
