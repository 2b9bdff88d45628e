"""``patch check`` and ``patch fix``: verdict, position, rules; standard output holds only what was asked for."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from agentic_proxy.cli.main import main

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+naïve\n*** End Patch"
FENCED = f"```patch\n{PATCH}\n```\n"

CASES: dict[str, tuple[str, int, str, str]] = {
    "patch": (PATCH + "\n", 0, "valid", PATCH + "\n"),
    "patch with CRLF": (PATCH.replace("\n", "\r\n"), 0, "valid", PATCH.replace("\n", "\r\n")),
    "arguments": (json.dumps({"input": PATCH}), 0, "valid", PATCH),
    "fence": (FENCED, 1, "line 1, column 1: the first line is not `*** Begin Patch`; fixed by fence", PATCH),
    "arguments under another key": (
        json.dumps({"patch": PATCH}), 1,
        "line 1, column 3: a key other than `input` is in the object; fixed by other_key", PATCH,
    ),
    "arguments with a fence": (
        json.dumps({"input": FENCED}), 1,
        "line 1, column 1 of the input: the first line is not `*** Begin Patch`; fixed by fence", PATCH,
    ),
    "no patch": ("hello\n", 2, "refused: line 1, column 1: the first line is not `*** Begin Patch`", ""),
    "a number": ('{"input": 7}', 2, "refused: line 1, column 11: `input` is not a string", ""),
    "nothing": ("", 2, "refused: line 1, column 1: the first line is not `*** Begin Patch`", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "verdict", "fixed"), CASES.values(), ids=CASES)
def test_a_file_is_judged_and_fixed(
    text: str, code: int, verdict: str, fixed: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "a.patch"
    file.write_bytes(text.encode())
    assert main(["patch", "check", str(file)]) == code
    assert capfdbinary.readouterr() == (f"{file}: {verdict}\n".encode(), b"")
    assert main(["patch", "fix", str(file)]) == code
    out, err = capfdbinary.readouterr()
    assert err == f"{file}: {verdict}\n".encode()
    assert out.decode().rstrip("\n") == fixed.rstrip("\n")
    assert code == 1 or out.decode() == fixed, "what is valid is not touched"


class Piped(io.TextIOWrapper):
    """Standard input with these bytes in it."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(FENCED.encode()))
    assert main(["patch", "check", "-"]) == 1
    assert capsys.readouterr().out.startswith("standard input: line 1, column 1: ")


def test_what_is_no_text_and_what_cannot_be_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.patch"
    assert main(["patch", "fix", str(file)]) == 2
    assert capsys.readouterr() == ("", f"agentic-proxy: {file} cannot be read: No such file or directory\n")
    file.write_bytes(b"*** \xff")
    assert main(["patch", "check", str(file)]) == 2
    assert capsys.readouterr() == ("", f"agentic-proxy: {file}: refused: byte 5 is not UTF-8 text\n")


def test_what_is_left_alone_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.patch"
    file.write_text(PATCH.replace("naïve", "a &lt; b"))
    assert main(["patch", "check", str(file)]) == 0
    assert capsys.readouterr() == (
        f"{file}: valid\n",
        f"agentic-proxy: warning: {file}: html entities in the text were left as they are\n",
    )


def test_a_patch_that_parses_but_means_something_else_has_no_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.patch"
    file.write_text("*** Begin Patch\n*** Update File: a\n@@ -1,2 +1,2 @@\n-a\n+b\n*** End Patch\n")
    assert main(["patch", "check", str(file)]) == 1
    assert capsys.readouterr() == (f"{file}: fixed by hunk_marks\n", "")
