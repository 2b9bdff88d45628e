"""Betas that may go up."""

from __future__ import annotations

from translators.messages.betas import known


def test_only_known_names_pass_once_and_in_order() -> None:
    header = "context-1m-2025-08-07, evil\r\nx: y,effort-2025-11-24,context-1m-2025-08-07"
    assert known(header) == ("context-1m-2025-08-07", "effort-2025-11-24")
    assert known("") == ()
