"""The session that a client's headers name."""

from __future__ import annotations

import pytest

from agentic_proxy.server.session import session_of


@pytest.mark.parametrize(
    ("headers", "session"),
    [
        ({}, None),
        ({"session-id": "s", "thread-id": "t"}, "s"),
        ({"session-id": " ", "thread-id": "t"}, "t"),
        ({"x-session-affinity": "a"}, "a"),
        ({"x-request-id": "r"}, None),
    ],
)
def test_the_first_header_that_names_a_session_counts(headers: dict[str, str], session: str | None) -> None:
    assert session_of(headers) == session
