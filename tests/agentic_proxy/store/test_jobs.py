"""The two questions that most jobs ask."""

from __future__ import annotations

import pytest

from agentic_proxy.store.jobs import Job, Query, Rows, known, one


def answered(job: Job[object], rows: Rows) -> object:
    assert next(job) == Query("SELECT ?1", (7,))
    with pytest.raises(StopIteration) as stop:
        job.send(rows)
    return stop.value.value


def test_one_is_the_first_row_or_none() -> None:
    assert answered(one("SELECT ?1", 7), [(1, 2), (3, 4)]) == (1, 2)
    assert answered(one("SELECT ?1", 7), []) is None


def test_known_says_whether_there_is_a_row() -> None:
    assert answered(known("SELECT ?1", 7), [(None,)]) is True
    assert answered(known("SELECT ?1", 7), []) is False
