"""Headers of the configuration: what a request can carry."""

from __future__ import annotations

import pytest

from agentic_proxy.config.errors import Report
from agentic_proxy.config.headers import build_headers
from agentic_proxy.config.secrets import Secret


def built(value: str, encoding: str) -> tuple[dict[str, Secret], list[str]]:
    report = Report("c.yaml", {})
    headers = build_headers({"X-Team": value}, ("headers",), report, encoding=encoding)
    return headers, [str(problem) for problem in report.problems]


@pytest.mark.parametrize(
    ("value", "encoding", "good"),
    [("plain", "ascii", True), ("é", "latin-1", True), ("é", "ascii", False), ("€", "latin-1", False)],
)
def test_a_value_has_only_characters_that_its_transport_writes(value: str, encoding: str, good: bool) -> None:
    headers, problems = built(value, encoding)
    assert headers == {"X-Team": Secret(value)}
    assert problems == ([] if good else ["headers.X-Team: holds a character that no header can carry"])
