"""Data on standard output, everything said to a person on standard error."""

from __future__ import annotations

import io

import pytest

from agentic_proxy.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_kind_of_text_has_its_stream_and_form(capsys: pytest.CaptureFixture[str]) -> None:
    output.data("data")
    output.say("said")
    output.warn("mind this")
    output.fail("one\ntwo")
    assert capsys.readouterr() == (
        "data\n",
        "said\nagentic-proxy: warning: mind this\nagentic-proxy: one\nagentic-proxy: two\n",
    )


def test_what_others_wrote_moves_no_cursor_and_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.data("m\x1b[2J\nn")
    output.say("m\x1b]0;title\x07")
    output.block('{\n  "name": "\x9b"\n}')
    assert capsys.readouterr() == ('m\\u001b[2J\\u000an\n{\n  "name": "\\u009b"\n}\n', "m\\u001b]0;title\\u0007\n")


def test_closed_streams_are_told_of_or_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    output.say("nobody reads this")
    with pytest.raises(output.OutputError, match="it is closed"):
        output.data("nor this")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), BrokenPipeError(), ValueError("closed")])
def test_what_nobody_can_be_told_ends_no_command(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(io.StringIO):
        def write(self, text: str) -> int:
            raise error

    monkeypatch.setattr("sys.stderr", Refusing())
    output.warn("nobody reads this")


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_is_for_terminals_unless_the_environment_decides(
    stream: io.StringIO, environ: dict[str, str], wanted: bool
) -> None:
    assert output.colour_wanted(stream, environ) is wanted
