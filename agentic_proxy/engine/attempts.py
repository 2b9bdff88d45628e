"""Attempts: the only loop that retries or fails over.

One attempt asks one target once. Another may take over as long as nothing but lifecycle events reached the client,
and only after an availability fault; a fault of the request or of the model's text ends the turn.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from agentic_proxy.engine.deadline import Deadline
from agentic_proxy.routing.models import Target
from translators.close import Close
from translators.failure import Failure
from translators.upstream_errors import from_body

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn
    from agentic_proxy.executors.base import UpstreamResponse

RETRY_PAUSE = 0.2
"""Seconds before the same candidate is asked again."""
CLOSE_GRACE = 2.0
"""Seconds to wait for usage and the end marker once the content is complete (some hosts send neither)."""
ERROR_BODY = 64 << 10

log = structlog.get_logger("agentic_proxy.attempts")


async def run(turn: Turn, targets: list[Target]) -> Close:
    """Ask the targets in order until one response closes properly. Raises the last Failure otherwise."""
    tries = turn.engine.config.retries.same_candidate + 1
    failure: Failure | None = None
    for target in targets:
        for attempt in range(1, tries + 1):
            turn.account.start(target)
            try:
                close = await _taught(turn, target)
            except Failure as caught:
                failure = turn.account.failed(caught)
                final = turn.committed or not failure.row.failover
                log.info(
                    "attempt_failed", provider=target.provider.name, model=target.upstream_model, code=failure.code
                )
                if final:
                    raise failure from caught.__cause__
                if not failure.retry_same or attempt == tries:
                    break
                await asyncio.sleep(RETRY_PAUSE)
            else:
                return close
    assert failure is not None, "there is always a target"
    raise failure


async def _taught(turn: Turn, target: Target) -> Close:
    """One target, asked once more for each thing that its refusals teach. Raises the last Failure."""
    while True:
        try:
            close = await _attempt(turn, target)
        except Failure as refusal:
            if not turn.trial.again(turn, target, refusal):
                raise
            turn.account.failed(refusal)
            turn.account.start(target)
            turn.retranslate()
        else:
            turn.trial.worked(target)
            return close


async def _attempt(turn: Turn, target: Target) -> Close:
    """One target, once. Raises Failure; the upstream connection is closed however this ends."""
    timeouts = turn.engine.config.timeouts
    executor = turn.engine.executors[target.provider.name]
    request = turn.translate(target, executor)
    pipeline = turn.pipeline
    pipeline.begin(request.format, request.tools, executor.where, request.bridge)
    credential = target.provider.api_keys[0] if target.provider.api_keys else None
    response: UpstreamResponse | None = None
    try:
        async with Deadline(timeouts.first_byte) as deadline:
            response = await executor.open(request.body, credential, request.headers)
            if response.status != 200:
                raise await refused(response, executor.where)
            while pipeline.closed is None:
                chunk = await response.read_some()
                data = pipeline.feed(chunk) if chunk else pipeline.end_of_body()
                if data:
                    # The deadline is the upstream's: a slow client must not use it up, nor lose a write to it.
                    deadline.pause()
                    await turn.write(data)
                deadline.touch(CLOSE_GRACE if pipeline.awaiting_close else timeouts.idle)
            response.finish()
    except TimeoutError:
        if not pipeline.awaiting_close:
            waited = timeouts.idle if pipeline.alive else timeouts.first_byte
            raise Failure("upstream_timeout", f"{executor.where} sent nothing for {waited:g} seconds.") from None
        data = pipeline.end_of_body()
        if data:
            await turn.write(data)
    except Failure as failure:
        raise pipeline.explained(failure) from failure.__cause__
    finally:
        if response is not None:
            response.close()
    close = pipeline.closed
    assert close is not None, "the loop ends with a close"
    return close


async def refused(response: UpstreamResponse, where: str) -> Failure:
    """What an answer with another status than 200 means."""
    try:
        body = await response.read(ERROR_BODY)
    except Failure:
        body = b""  # the status says enough
    if response.status < 400:
        text = f"{where} answered HTTP {response.status}, which is no answer to a model request. Check its base_url."
        return Failure("upstream_invalid_response", text)
    return from_body(response.status, body, where=where, retry_after=_retry_after(response.headers))


def _retry_after(headers: dict[str, str]) -> float | None:
    """Seconds from ``retry-after-ms`` or ``retry-after``; HTTP dates are left to the client."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        if value.replace(".", "", 1).isdigit():
            return float(value) * scale
    return None
