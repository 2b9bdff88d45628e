"""The exit codes are a promise to scripts."""

from __future__ import annotations

from agentic_proxy.cli.exits import Exit


def test_the_exit_codes_do_not_change() -> None:
    assert {code.name: int(code) for code in Exit} == {
        "OK": 0,
        "FAILURE": 1,
        "USAGE": 2,
        "UNAVAILABLE": 69,
        "CANNOT_WRITE": 73,
        "CONFIG": 78,
        "INTERRUPTED": 130,
    }
