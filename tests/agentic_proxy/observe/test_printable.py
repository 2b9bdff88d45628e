"""What others wrote is shown on a terminal, never obeyed."""

from __future__ import annotations

import json

import pytest

from agentic_proxy.observe import printable


@pytest.mark.parametrize(
    ("text", "line", "lines"),
    [
        ("plain, größer, 模型", "plain, größer, 模型", "plain, größer, 模型"),
        ("a\n\tb", "a\\u000a\\u0009b", "a\n\tb"),
        ("\x1b[31m\x07\r\x00", "\\u001b[31m\\u0007\\u000d\\u0000", "\\u001b[31m\\u0007\\u000d\\u0000"),
        ("\x7f\x9b0m", "\\u007f\\u009b0m", "\\u007f\\u009b0m"),
        ("\u2028\u202e\u2066", "\\u2028\\u202e\\u2066", "\\u2028\\u202e\\u2066"),
        (b"\xff".decode(errors="surrogateescape"), "\\udcff", "\\udcff"),
    ],
)  # fmt: skip
def test_control_characters_are_shown(text: str, line: str, lines: str) -> None:
    assert (printable.one_line(text), printable.lines(text)) == (line, lines)


def test_json_keeps_its_meaning() -> None:
    value = {"name": "\x7f\x9b\u202e"}
    text = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(printable.lines(text)) == value
    assert printable.lines(text) != text
