"""Real error bodies get the name that tells a client what to do.

``error_bodies.jsonl``: one published body a line, from providers' documentation and public bug reports: provider, HTTP
status, our code, seconds to wait, and the body (a text where only the message is public).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from translators.error_wording import CODES, WORDINGS
from translators.failure import ROWS
from translators.upstream_errors import from_body

LINES = Path(__file__).with_name("error_bodies.jsonl").read_text(encoding="utf-8").splitlines()
BODIES: list[tuple[str, int, str, float | None, Any]] = [tuple(json.loads(line)) for line in LINES]


@pytest.mark.parametrize(
    ("provider", "status", "code", "wait", "body"),
    BODIES,
    ids=[f"{number}-{row[0]}-{row[1]}" for number, row in enumerate(BODIES, start=1)],
)
def test_an_error_body_gets_our_code_and_its_wait(
    provider: str, status: int, code: str, wait: float | None, body: Any
) -> None:
    sent = {"error": {"message": body, "type": "x"}} if isinstance(body, str) else body
    failure = from_body(status, orjson.dumps(sent), where=provider)
    assert (failure.code, failure.retry_after, failure.upstream_status) == (code, wait, status)


def test_every_name_and_wording_leads_to_a_row_of_the_failure_table() -> None:
    assert {*CODES.values(), *(wording.code for wording in WORDINGS)} - ROWS.keys() == set()


def test_the_table_holds_more_than_forty_bodies_and_each_once() -> None:
    assert len(set(LINES)) == len(LINES) > 40
