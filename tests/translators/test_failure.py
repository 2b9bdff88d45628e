"""The table of failures and what a Failure makes of it."""

from __future__ import annotations

import pytest

from translators.failure import MESSAGE_LIMIT, ROWS, Failure, Row, shortened

every_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)


@every_row
def test_a_row_says_one_thing_about_side_status_and_blame(row: Row) -> None:
    assert 400 <= row.status <= 599
    if row.side == "client":
        assert 400 <= row.status < 500
    if row.side == "proxy":
        assert row.status >= 500
    if row.blames:
        assert row.side == "upstream" and row.failover, "only a fault of the upstream's availability cools it down"
    if row.failover:
        assert row.side == "upstream"


@every_row
def test_a_failure_is_its_row(row: Row) -> None:
    failure = Failure(row.code, "What happened.")
    assert (failure.code, failure.side, failure.status) == (row.code, row.side, row.status)
    assert (failure.stream_code, failure.blames_credential) == (row.stream, row.blames)
    assert (failure.param, failure.upstream_code, failure.retry_after, failure.retry_same) == (None, None, None, False)
    assert str(failure) == failure.message == "What happened."


def test_broken_arguments_blame_nobody_and_are_not_asked_for_elsewhere() -> None:
    row = ROWS["invalid_tool_arguments"]
    assert (row.blames, row.failover) == (False, False)


def test_what_the_upstream_said_goes_before_the_table() -> None:
    failure = Failure(
        "upstream_rejected", "No.", status=422, stream_code="bad_image", upstream_code="bad_image", param="x"
    )
    assert (failure.status, failure.stream_code, failure.upstream_code, failure.param) == (
        422,
        "bad_image",
        "bad_image",
        "x",
    )


def test_everything_that_an_upstream_had_a_part_in_can_be_cleaned() -> None:
    failure = Failure(
        "upstream_error", "m KEY", stream_code="KEY-1", upstream_code="KEY-2", param="a.KEY", incomplete_reason="KEY-3",
        upstream_id="req-KEY",
    )  # fmt: skip
    failure.clean(lambda text: text.replace("KEY", "***"))
    assert "KEY" not in repr(vars(failure))
    assert (failure.stream_code, failure.param, failure.upstream_id) == ("***-1", "a.***", "req-***")


def test_long_messages_are_cut_to_the_limit() -> None:
    assert shortened("x" * MESSAGE_LIMIT) == "x" * MESSAGE_LIMIT
    assert Failure("internal_error", "x" * 5000).message == "x" * (MESSAGE_LIMIT - 1) + "…"


def test_the_repr_of_a_failure_names_code_and_message() -> None:
    assert repr(Failure("not_found", "No such thing.")) == "Failure('not_found', 'No such thing.')"


def test_an_unknown_code_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        Failure("no_such_code", "x")
