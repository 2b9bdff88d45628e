"""Attempts: the only loop that retries or fails over.

One attempt asks one candidate once. Another may take over as long as nothing but lifecycle events reached the client,
and only after an availability fault; a fault of the request or of the model's text ends the turn.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import structlog

from agentic_proxy.engine.deadline import Deadline
from agentic_proxy.engine.hints import told
from agentic_proxy.engine.retry_after import retry_after
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target
from translators.close import Close
from translators.failure import Failure
from translators.upstream_errors import from_body

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn
    from agentic_proxy.executors.base import Executor, UpstreamResponse

RETRY_PAUSE = 0.2
"""Seconds before the same candidate is asked again."""
CLOSE_GRACE = 2.0
"""Seconds to wait for usage and the end marker once the content is complete (some hosts send neither)."""
ERROR_BODY = 64 << 10
ERROR_WAIT = 5.0
"""Seconds to wait for the rest of an error: its status has come already."""
REQUEST_IDS = ("x-request-id", "request-id", "x-generation-id", "x-deepseek-request-id")
"""Headers by which providers name a request to those who ask them about it: most of them, Anthropic, OpenRouter,
DeepSeek."""

log = structlog.get_logger("agentic_proxy.attempts")


async def run(turn: Turn, targets: list[Target]) -> Close:
    """Ask the candidates in the order of their course until one response closes properly. Raises Failure otherwise."""
    courses = turn.engine.courses
    course = courses.begin(turn, targets)
    while (step := course.next()) is not None:
        if step.wait:
            log.info("waiting_for_candidate", **_place(step.candidate), seconds=round(step.wait, 3))
            await asyncio.sleep(step.wait)
        try:
            close = await _again(turn, step.candidate)
        except Failure as failure:
            course.failed(step.candidate, failure)
            if turn.committed or not failure.row.failover:
                raise
        else:
            courses.worked(turn, course, step.candidate)
            return close
    raise course.failure()


async def _again(turn: Turn, candidate: Candidate) -> Close:
    """One candidate, asked again at once for what a moment may cure. Raises the last Failure."""
    tries = turn.engine.config.retries.same_candidate
    while True:
        turn.account.start(candidate.target, candidate.key)
        try:
            return await _taught(turn, candidate)
        except Failure as caught:
            failure = turn.account.failed(caught)
            log.warning(
                "attempt_failed",
                **_place(candidate),
                request_id=turn.account.request_id,
                response_id=turn.id,
                upstream_id=failure.upstream_id,
                code=failure.code,
                message=failure.message,
                reason=failure.incomplete_reason,
            )
            if turn.committed or tries == 0 or not _may_cure(turn, failure):
                raise failure from caught.__cause__
        tries -= 1
        await asyncio.sleep(RETRY_PAUSE)


def _may_cure(turn: Turn, failure: Failure) -> bool:
    """Whether a second request may end otherwise. A model's own fault is not asked for again in a request that failed
    of one before."""
    own_fault = not failure.row.failover
    return failure.retry_same and not (own_fault and turn.engine.repeats.failed_before(turn.fingerprint()))


def _place(candidate: Candidate) -> dict[str, str]:
    place = {"provider": candidate.target.provider.name, "model": candidate.target.upstream_model}
    return {**place, "key": candidate.key} if candidate.key else place


async def _taught(turn: Turn, candidate: Candidate) -> Close:
    """One candidate, asked once more for each thing that its refusals teach. Raises the last Failure."""
    target = candidate.target
    while True:
        try:
            close = await _attempt(turn, candidate)
        except Failure as refusal:
            if not turn.trial.again(turn, target, refusal):
                raise
            turn.account.failed(refusal)
            turn.account.start(target, candidate.key)
            turn.retranslate()
        else:
            turn.trial.worked(target)
            return close


async def _attempt(turn: Turn, candidate: Candidate) -> Close:
    """One candidate, once. Raises Failure; the upstream connection is closed however this ends."""
    timeouts = turn.engine.config.timeouts
    target = candidate.target
    executor = turn.engine.executor(target, turn.request.client, turn.trial.ids(target))
    request = turn.translate(target, executor)
    pipeline = turn.pipeline
    pipeline.begin(request.format, request.tools, executor.where, request.bridge)
    response: UpstreamResponse | None = None
    try:
        async with Deadline(timeouts.first_byte) as deadline:
            heard = False
            headers = {**request.headers, **betas(turn, executor, request.betas)}
            response = await executor.open(request.body, candidate.credential, headers)
            if response.status != 200:
                raise await refused(response, executor.where)
            while pipeline.closed is None:
                chunk = await response.read_some()
                data = pipeline.feed(chunk) if chunk else pipeline.end_of_body()
                if not heard and pipeline.alive:
                    heard = True
                    turn.account.heard()
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
        failure, cause = pipeline.explained(failure), failure.__cause__
        raise told(failure, candidate, time.time(), where=executor.where, alive=pipeline.alive) from cause
    finally:
        if response is not None:
            response.close()
    close = pipeline.closed
    assert close is not None, "the loop ends with a close"
    return close


def betas(turn: Turn, executor: Executor, taken: frozenset[str] | None) -> dict[str, str]:
    """What a Messages client may ask a Messages upstream for by header, whichever way its body took."""
    asked = turn.request.betas if turn.request.client == executor.wire == "messages" else ()
    if taken is not None:
        asked = tuple(name for name in asked if name in taken)
    return {"anthropic-beta": ",".join(asked)} if asked else {}


async def refused(response: UpstreamResponse, where: str) -> Failure:
    """What an answer with another status than 200 means."""
    try:
        async with asyncio.timeout(ERROR_WAIT):
            body = await response.read(ERROR_BODY)
    except (Failure, TimeoutError):
        body = b""  # the status says enough
    if response.status < 400:
        text = f"{where} answered HTTP {response.status}, which is no answer to a model request. Check its base_url."
        return Failure("upstream_invalid_response", text)
    headers = response.headers
    failure = from_body(response.status, body, where=where, retry_after=retry_after(headers, time.time()))
    failure.upstream_id = next((headers[name][:128] for name in REQUEST_IDS if headers.get(name)), None)
    if (wanted := headers.get("x-should-retry")) in ("true", "false"):
        failure.retry_same = wanted == "true" and (failure.row.failover or failure.retry_same)
    if failure.retry_after is not None and failure.retry_after > RETRY_PAUSE:
        failure.retry_same = False  # it says itself that now is too early
    return failure
