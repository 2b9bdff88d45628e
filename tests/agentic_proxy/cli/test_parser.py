"""What a parser says of a word that it does not know."""

from __future__ import annotations

import pytest

from agentic_proxy.cli.parser import Parser


def parser() -> Parser:
    made = Parser(prog="it")
    made.add_argument("--verbose", action="store_true")
    below = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    go = below.add_parser("go")
    go.add_argument("--port", type=int)
    go.add_argument("--level", choices=("low", "high"))
    below.add_parser("stop")
    return made


@pytest.mark.parametrize(
    ("words", "usage", "error"),
    [
        ("go --prt 3", "it go", "it go: error: unrecognized arguments: --prt 3, did you mean --port?"),
        ("go --prt=3", "it go", "it go: error: unrecognized arguments: --prt=3, did you mean --port?"),
        ("go --por 3", "it go", "it go: error: unrecognized arguments: --por 3, did you mean --port?"),
        ("go --verbose", "it go", "it go: error: unrecognized arguments: --verbose"),
        ("go fast", "it go", "it go: error: unrecognized arguments: fast"),
        ("--verbos go", "it", "it: error: unrecognized arguments: --verbos, did you mean --verbose?"),
        ("stp", "it", "it: error: argument COMMAND: invalid choice: stp (choose from go, stop), did you mean stop?"),
        ("go --level x", "it go", "it go: error: argument --level: invalid choice: x (choose from low, high)"),
    ],
)
def test_a_word_that_is_not_known_is_told_with_the_nearest_one_and_the_usage_it_belongs_to(
    words: str, usage: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(words.split())
    shown = capsys.readouterr()
    assert (caught.value.code, shown.out) == (2, "")
    first, *_, last = shown.err.splitlines()
    assert first.startswith(f"usage: {usage} [-h]")
    assert last == error


def test_what_is_known_is_read() -> None:
    found = parser().parse_args(["--verbose", "go", "--port", "3", "--level", "high"])
    assert vars(found) == {"verbose": True, "command": "go", "port": 3, "level": "high"}
