"""A request's story in plain lines, for whoever wants to know what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from agentic_proxy.usage.base import LEFT, RequestRecord, Story, UsageRecord, Way
from agentic_proxy.usage.meanings import CODES, LESSONS, REPAIRS, with_meaning

TRANSPORTS: Final = {"http": "HTTP", "websocket": "WebSocket"}
ENDS: Final = {"completed": "completed", "incomplete": "incomplete", "cancelled": "ended by the client"}


def tell(story: Story) -> Iterator[str]:
    """The lines, oldest first."""
    request = story.request
    if request is not None:
        yield from _arrival(request)
        yield from _route(request)
    for attempt in story.attempts:
        yield from _attempt(attempt)
    if not story.attempts:
        yield _nobody(request)
    yield _end(request) if request is not None else "End: it has not ended yet."


def _arrival(request: RequestRecord) -> Iterator[str]:
    asked = f"asked for {request.model}" if request.model else "named no model"
    way = TRANSPORTS[request.transport]
    yield f"Request {request.id}: {_moment(request.at)}, {request.client} over {way} ({request.client_format}) {asked}."
    if request.response_id and request.status == 200:
        yield f"Response {request.response_id}."


def _route(request: RequestRecord) -> Iterator[str]:
    if not request.route:
        return
    yield "Route:"
    place = 0
    for way in request.route:
        asked = way.why not in ("closed", "window")
        place += asked
        yield f"  {f'{place}.' if asked else '-'} {_named(way.provider, way.model, way.key)}{_why(way)}"


def _why(way: Way) -> str:
    match way.why:
        case "":
            return ""
        case "session":
            return ": first, because it served this session before"
        case "cooling":
            return f": behind the others, because it rests until {_moment(way.until)} ({_coded(way.code)})"
        case "closed":
            return f": not asked before {_moment(way.until)} ({_coded(way.code)})"
        case "window":
            return f": not asked, its context window of {way.window:,} tokens is below the estimated {way.tokens:,}"


def _attempt(attempt: UsageRecord) -> Iterator[str]:
    retry = f" (retry {attempt.retry})" if attempt.retry else ""
    first = "no event came"
    if attempt.first_event is not None:
        first = f"first event after {attempt.first_event:.2f} s"
    ended = f"completed after {attempt.seconds:.2f} s"
    if attempt.code is not None:
        how = "ended" if attempt.code in LEFT else "failed"
        ended = f"{how} after {attempt.seconds:.2f} s: {_coded(attempt.code)}"
    yield f"Attempt {attempt.number}{retry}: {_named(attempt.provider, attempt.upstream_model, attempt.credential)}"
    for lesson in attempt.lessons:
        yield f"  learned before: {with_meaning(lesson, LESSONS.get(lesson.partition(':')[0]))}"
    if attempt.notes:
        yield f"  translated by rule: {', '.join(dict.fromkeys(attempt.notes))}"
    yield f"  {first}, {ended}"
    if attempt.input_tokens or attempt.output_tokens:
        yield f"  tokens: {_tokens(attempt)}"
    for rule in dict.fromkeys(attempt.repairs):
        yield f"  repaired by rule: {with_meaning(rule, REPAIRS.get(rule))}"


def _tokens(attempt: UsageRecord) -> str:
    cached = f"{attempt.cached_tokens:,} cached"
    if attempt.cache_write_tokens:
        cached += f", {attempt.cache_write_tokens:,} written to the cache"
    reasoning = f"{attempt.reasoning_tokens:,} reasoning"
    return f"{attempt.input_tokens:,} input ({cached}), {attempt.output_tokens:,} output ({reasoning})"


def _nobody(request: RequestRecord | None) -> str:
    if request is not None and request.code is None:
        return "No upstream was asked: the request only prepared a continuation."
    return "No upstream was asked."


def _end(request: RequestRecord) -> str:
    ended = f"{ENDS.get(request.outcome, 'failed')} after {request.seconds:.2f} s"
    status = f"HTTP {request.status}" if request.transport == "http" else f"status {request.status}"
    coded = f": {_coded(request.code)}" if request.code is not None else ""
    return f"End: {ended} ({status}){coded}."


def _coded(code: str) -> str:
    return with_meaning(code, CODES.get(code))


def _named(provider: str, model: str, key: str) -> str:
    return f"{provider}/{model} ({key})" if key else f"{provider}/{model}"


def _moment(at: float) -> str:
    """A time of this machine's time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
