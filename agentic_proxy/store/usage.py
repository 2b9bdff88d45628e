"""Jobs for what is kept of requests and attempts: appended in batches, summed, looked up, removed by age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import orjson

from agentic_proxy.store.jobs import Job, Many, Query, Rows
from agentic_proxy.usage.base import Asked, RequestRecord, Spent, Story, Sums, UsageRecord, Way
from translators.surrogates import clean

KEEP_REQUEST: Final = """
    INSERT INTO requests (at, id, response, format, transport, client, model, provider, upstream_model, status, outcome,
                          code, seconds, route)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"""
KEEP_ATTEMPT: Final = """
    INSERT INTO attempts (at, response, format, model, provider, upstream_model, seconds, code, input_tokens,
                          cached_tokens, output_tokens, reasoning_tokens, notes, repairs, lessons, request, client,
                          provider_type, credential, number, retry, first_event, cache_write_tokens)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)"""
"""The columns, here and below, stand in the order of the records' fields."""
REQUEST: Final = """
    SELECT at, id, response, format, transport, client, model, provider, upstream_model, status, outcome, code, seconds,
           route
    FROM requests WHERE id = ?1 OR (response = ?1 AND response <> '') LIMIT 1"""
ATTEMPTS: Final = """
    SELECT at, response, format, model, provider, upstream_model, seconds, code, input_tokens, cached_tokens,
           output_tokens, reasoning_tokens, notes, repairs, lessons, request, client, provider_type, credential, number,
           retry, first_event, cache_write_tokens
    FROM attempts WHERE request = ?1 ORDER BY number"""
ASKED: Final = """
    SELECT at / 900 * 900, client, provider, CASE WHEN provider = '' THEN model ELSE upstream_model END, COUNT(*)
    FROM requests WHERE at >= ?1 GROUP BY 1, 2, 3, 4"""
SPENT: Final = """
    SELECT at / 900 * 900, client, provider, provider_type, upstream_model,
           CASE WHEN input_tokens > 512000 THEN 512000 WHEN input_tokens > 272000 THEN 272000
                WHEN input_tokens > 256000 THEN 256000 WHEN input_tokens > 200000 THEN 200000 ELSE 0 END,
           COUNT(*), COUNT(CASE WHEN code NOT IN ('client_gone', 'response_cancelled') THEN 1 END),
           CAST(SUM(input_tokens) AS BIGINT), CAST(SUM(cached_tokens) AS BIGINT),
           CAST(SUM(cache_write_tokens) AS BIGINT), CAST(SUM(output_tokens) AS BIGINT),
           CAST(SUM(reasoning_tokens) AS BIGINT)
    FROM attempts WHERE at >= ?1 GROUP BY 1, 2, 3, 4, 5, 6"""
"""900, the numbers of tokens and the two codes are ``QUARTER``, ``STEPS`` and ``LEFT``."""

OLD: Final = """
    SELECT 1 WHERE EXISTS (SELECT 1 FROM requests WHERE at < ?1) OR EXISTS (SELECT 1 FROM attempts WHERE at < ?1)"""
FORGET: Final = (
    """
    DELETE FROM requests WHERE key IN (SELECT key FROM requests WHERE at < ?1 ORDER BY at LIMIT ?2) RETURNING key""",
    """
    DELETE FROM attempts WHERE key IN (SELECT key FROM attempts WHERE at < ?1 ORDER BY at LIMIT ?2) RETURNING key""",
)
SLICE: Final = 1000


def keep(requests: Sequence[RequestRecord], attempts: Sequence[UsageRecord]) -> Job[None]:
    """See Ledger.keep_usage."""
    if requests:
        yield Many(KEEP_REQUEST, [_request_row(each) for each in requests])
    if attempts:
        yield Many(KEEP_ATTEMPT, [_attempt_row(each) for each in attempts])


def since(at: int) -> Job[Sums]:
    """See Ledger.usage_since."""
    asked = yield Query(ASKED, (at,))
    spent = yield Query(SPENT, (at,))
    return Sums([Asked(*row) for row in asked], [Spent(*row) for row in spent])


def story(name: str) -> Job[Story | None]:
    """See Ledger.story."""
    rows: Rows = yield Query(REQUEST, (name,))
    request = _request(rows[0]) if rows else None
    attempts = yield Query(ATTEMPTS, (request.id if request else name,))
    return Story(request, [_attempt(row) for row in attempts]) if rows or attempts else None


def forget(before: int) -> Job[int]:
    """Remove the oldest records from before then (Unix seconds), at most SLICE of each kind; returns how many went."""
    count = 0
    for statement in FORGET:
        count += len((yield Query(statement, (before, SLICE))))
    return count


def _request_row(record: RequestRecord) -> tuple[Any, ...]:
    return (
        int(record.at),
        record.id,
        record.response_id,
        record.client_format,
        record.transport,
        record.client,
        record.model,
        record.provider,
        record.upstream_model,
        record.status,
        record.outcome,
        record.code,
        record.seconds,
        orjson.dumps([(*way[:1], clean(way.model), *way[2:]) for way in record.route]).decode(),
    )


def _request(row: Sequence[Any]) -> RequestRecord:
    route = tuple(Way(*way) for way in orjson.loads(row[-1]))
    return RequestRecord(*(*row[:-1], route))


def _attempt_row(record: UsageRecord) -> tuple[Any, ...]:
    return (
        int(record.at),
        record.response_id,
        record.client_format,
        record.model,
        record.provider,
        record.upstream_model,
        record.seconds,
        record.code,
        record.input_tokens,
        record.cached_tokens,
        record.output_tokens,
        record.reasoning_tokens,
        " ".join(record.notes),
        " ".join(record.repairs),
        " ".join(record.lessons),
        record.request_id,
        record.client,
        record.provider_type,
        record.credential,
        record.number,
        record.retry,
        record.first_event,
        record.cache_write_tokens,
    )


def _attempt(row: Sequence[Any]) -> UsageRecord:
    names = slice(12, 15)
    ids = [tuple(cast(str, text).split()) for text in row[names]]
    return UsageRecord(*row[: names.start], *ids, *row[names.stop :])
