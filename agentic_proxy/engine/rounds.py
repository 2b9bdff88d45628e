"""Rounds: the inference rounds of one public response.

A round ends with a proper close of the upstream response. It is the last one unless the proxy itself has to act on
its calls; client-owned calls go back to the client. Usage is summed over the rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_proxy.engine import attempts
from agentic_proxy.routing.models import Target
from translators.close import Close

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

MAX_ROUNDS = 10


async def run(turn: Turn, targets: list[Target]) -> Close:
    """Run rounds until one needs nothing from the proxy. Raises Failure."""
    for _ in range(MAX_ROUNDS):
        close = await attempts.run(turn, targets)
        data, refusals = turn.pipeline.settle(close)
        if data:
            await turn.write(data)
        turn.end_attempt(None, close, refusals)
        if refusals and close.status == "completed":
            raise refusals[0]
        if not turn.wants_another_round(close):
            return close
    return Close("incomplete", reason="max_rounds")
