"""Settings that do not work yet: refused by name, or accepted with one warning."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.config.availability import NOT_YET, check_availability
from agentic_proxy.config.document import parse_document
from agentic_proxy.config.errors import Report
from agentic_proxy.config.schema import check


def reported(text: str) -> tuple[list[str], list[str]]:
    document = parse_document(text, "c.yaml")
    report = Report("c.yaml", document.lines)
    data: Any = check(document, report)
    assert report.problems == []
    check_availability(data, report)
    return [str(problem) for problem in report.problems], report.warnings


P = "providers: [{name: a, type: openai, "


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("plugins: [a.py]", "plugins"),
    ],
)
def test_a_setting_that_does_not_work_yet_is_refused_by_name(text: str, key: str) -> None:
    assert reported("\n" + text) == ([f"{key}: not available yet (line 2)"], [])


def test_the_cases_above_cover_the_table() -> None:
    marks = getattr(test_a_setting_that_does_not_work_yet_is_refused_by_name, "pytestmark")  # noqa: B009
    tested = {case[1].replace("[0]", ".*") for case in marks[0].args[1]}
    assert tested == {".".join(path) for path in NOT_YET}


@pytest.mark.parametrize(
    "text",
    [
        "limits: {deferred: 262144, ws_message: 64mib}",
        "tools: {web_search: null, mcp: {allowed_hosts: [], servers: {}}}",
        "tools: {web_search: {}, mcp: null}",
        "compaction: summary\nplugins: []",
        P + "models: [{id: n}]}]",
        "{}",
    ],
)
def test_it_is_accepted_at_its_default_however_it_is_written(text: str) -> None:
    assert reported(text) == ([], [])
