"""Rounds: the inference rounds of one public response.

A round ends with a proper close of the upstream response. It is the last one unless the proxy itself has to act on
its calls; client-owned calls go back to the client. Usage is summed over the rounds.

So far the proxy acts in one case, the corrective retry: a model whose only calls are unusable is told so and asked
again, once, as long as the client has seen nothing of those calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_proxy.engine import attempts, compaction
from agentic_proxy.routing.models import Target
from translators.close import Close
from translators.events import Json
from translators.tools.correction import ask_again

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

MAX_ROUNDS = 10


async def run(turn: Turn, targets: list[Target]) -> Close:
    """Run rounds until one needs nothing from the proxy. Raises Failure."""
    corrected = False
    for _ in range(MAX_ROUNDS):
        await compaction.before_round(turn, targets)
        close = await attempts.run(turn, targets)
        data = turn.pipeline.settle(close)
        calls = turn.pipeline.calls()
        again = [] if corrected else _correction(turn, close)
        turn.account.closed(close, calls, again=bool(again))
        await turn.write(data)
        if not again:
            return await _last(turn, close)
        corrected = True
        turn.extend(again)
    return Close("incomplete", reason="max_rounds")


def _correction(turn: Turn, close: Close) -> list[Json]:
    """Items for a corrective round; empty when none is due or allowed."""
    bad = any(call.refused is not None or call.defect is not None for call in turn.pipeline.calls())
    if not bad or close.status != "completed" or not turn.may_correct():
        return []
    before, calls = turn.pipeline.withdraw()
    return [*before, *ask_again(calls)] if calls else []


async def _last(turn: Turn, close: Close) -> Close:
    """No round follows: refused calls end the turn, unless the model was cut off by its length limit."""
    refusals = turn.pipeline.refusals()
    if refusals and close.status == "completed":
        raise turn.repeated(refusals[0])
    await turn.write(turn.pipeline.hand_on())
    return close
