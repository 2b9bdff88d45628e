"""Rounds: the inference rounds of one public response.

A round ends with a proper close of the upstream response. It is the last one unless the proxy itself has to act on
its calls; client-owned calls go back to the client. Usage is summed over the rounds.

The proxy acts in three cases. Calls of its own tools are run, and the model reads what they brought; beside calls of
the client's they are run and recorded, and the client has the word; so it has on calls that need its approval, which
are run before the first round of the response that brings it. A model that stops at asynchronous calls, as all do that
know none, is told that they run, and goes on (OpenAI's own do so in the same response). And the corrective retry: a
model whose only calls are unusable is told so and asked again, once, as long as the client has seen nothing of those
calls.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentic_proxy.engine import attempts, compaction
from agentic_proxy.engine.gateway import TOO_MANY_ROUNDS
from agentic_proxy.routing.models import Target
from translators.close import Close
from translators.events import Json
from translators.failure import Failure
from translators.tools.correction import ask_again

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

MAX_ROUNDS = 10


async def run(turn: Turn, targets: list[Target]) -> Close:
    """Run rounds until one needs nothing from the proxy. Raises Failure."""
    async with turn.gateway as gateway:
        await gateway.discover(turn)
        await gateway.resume(turn)
        return await _rounds(turn, targets)


async def _rounds(turn: Turn, targets: list[Target]) -> Close:
    corrected = False
    for _ in range(MAX_ROUNDS):
        await compaction.before_round(turn, targets)
        close = await _asked(turn, targets)
        data = await _settled(turn, close)
        calls = turn.pipeline.calls()
        again = [] if corrected else _correction(turn, close)
        turn.account.closed(close, calls, again=bool(again))
        await turn.write(data)
        if again:
            corrected = True
            turn.extend(again)
            continue
        own = turn.pipeline.own()
        goes_on = bool(own.calls) or own.later
        if goes_on:
            _check(turn, close)
        if own.calls:
            await turn.gateway.run(turn, own, close)
        if not goes_on or own.mixed or own.asks or close.status != "completed":
            return await _last(turn, close)
        turn.next_round(own.history())
    return Close("incomplete", reason=TOO_MANY_ROUNDS)


async def _settled(turn: Turn, close: Close) -> bytes:
    """What the client sees of the round's end. Other streams do not wait while a large patch is judged."""
    pipeline = turn.pipeline
    if pipeline.large:
        return pipeline.show(await asyncio.to_thread(pipeline.judge, close))
    return pipeline.settle(close)


async def _asked(turn: Turn, targets: list[Target]) -> Close:
    try:
        return await attempts.run(turn, targets)
    except Failure as failure:
        if failure.code != "invalid_tool_arguments":
            raise
        raise _repeated(turn, failure) from failure.__cause__


def _correction(turn: Turn, close: Close) -> list[Json]:
    """Items for a corrective round; empty when none is due or allowed."""
    bad = any(call.refused is not None or call.defect is not None for call in turn.pipeline.calls())
    if not bad or close.status != "completed" or not _may_correct(turn):
        return []
    before, calls = turn.pipeline.withdraw()
    return [*before, *ask_again(calls)] if calls else []


async def _last(turn: Turn, close: Close) -> Close:
    """No round follows: refused calls end the turn, unless the model was cut off by its length limit."""
    _check(turn, close)
    await turn.write(turn.pipeline.hand_on())
    return close


def _check(turn: Turn, close: Close) -> None:
    """Raises the Failure of a refused call: nothing of its round is run."""
    refusals = turn.pipeline.refusals()
    if refusals and close.status == "completed":
        raise _repeated(turn, refusals[0])


def _may_correct(turn: Turn) -> bool:
    """Whether a corrective retry is allowed at all: in mode repair, unless this very request failed before."""
    return turn.mode == "repair" and not turn.engine.repeats.failed_before(turn.fingerprint())


def _repeated(turn: Turn, refusal: Failure) -> Failure:
    """The refusal that ends this turn. The same request failing again ends in a code on which the client stops; not in
    mode strict, whose one ending is fixed."""
    if turn.mode == "strict":
        return refusal
    key = turn.fingerprint()
    if turn.engine.repeats.failed_before(key):
        text = f"{refusal.message} It is not the first time for this request: change it, or choose another model."
        refusal = Failure(refusal.code, text, status=400, stream_code="invalid_prompt")
    turn.engine.repeats.note(key)
    return refusal
