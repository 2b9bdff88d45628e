"""Keys from the file, from key files and from helper programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic_proxy.config.credentials import distinct, make_key, read_key_file, run_key_command
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact

EMPTY = "is empty; leave it out where no key is needed"
ODD = "holds a space, a line break or another character that no API key has"


@pytest.fixture(autouse=True)
def empty_register() -> Iterator[None]:
    redact.forget_all()
    yield
    redact.forget_all()


def python(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def test_a_key_is_stripped_and_never_shown_again() -> None:
    assert make_key("  plain-canary-1 \n") == Secret("plain-canary-1")
    assert redact.redact("key=plain-canary-1.") == "key=***."


@pytest.mark.parametrize(
    ("value", "text"), [("", EMPTY), (" \n", EMPTY), ("a b", ODD), ("a\nb", ODD), ("a\x00b", ODD), ("schlüssel", ODD)]
)
def test_a_key_that_cannot_stand_in_a_header_is_refused(value: str, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        make_key(value)
    assert str(caught.value) == text


def test_a_key_file_holds_one_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("\ufeffkey-in-a-file\r\n", encoding="utf-8")
    assert read_key_file(file) == Secret("key-in-a-file")


def test_a_key_file_that_does_not_serve_is_named(tmp_path: Path) -> None:
    file, binary = tmp_path / "key", tmp_path / "binary"
    file.write_text("two keys-canary\n")
    binary.write_bytes(b"\xff\xfe")
    for path, text in [
        (tmp_path / "none", f"the file {tmp_path / 'none'} cannot be read: No such file or directory"),
        (tmp_path, f"the file {tmp_path} cannot be read: Is a directory"),
        (file, f"the key in the file {file} {ODD}"),
        (binary, f"the file {binary} is not text"),
    ]:
        with pytest.raises(ValueError, match="the") as caught:
            read_key_file(path)
        assert str(caught.value) == text


def test_a_command_gives_what_it_prints_in_the_folder_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key-by-command\n")
    assert run_key_command(python("print(open('secret').read())"), folder=tmp_path) == Secret("key-by-command")


def test_a_command_line_is_split_but_no_shell_reads_it(tmp_path: Path) -> None:
    line = f"{sys.executable} -c 'import sys; print(sys.argv[1])' $HOME;exit"
    assert run_key_command(line, folder=tmp_path) == Secret("$HOME;exit")


LOUD = "import sys; print('canary-out'); print('canary-err', file=sys.stderr); sys.exit(3)"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (python(LOUD), f"{sys.executable} ended with status 3; run it yourself to see why"),
        (python("print()"), f"the key printed by {sys.executable} {EMPTY}"),
        (python("print('two words')"), f"the key printed by {sys.executable} {ODD}"),
        (
            python("import sys; sys.stdout.buffer.write(b'\\xff')"),
            f"{sys.executable} printed something that is not text",
        ),
        (["no-such-program-here"], "no-such-program-here cannot be run: No such file or directory"),
        ("'open", "has a quotation mark without its partner"),
        ("''", "names no program"),
        (["a\0b"], "a\0b cannot be run: not a program"),
    ],
)
def test_a_command_that_does_not_serve_is_named_without_its_output(
    command: str | list[str], text: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        run_key_command(command, folder=tmp_path)
    assert str(caught.value) == text


def test_a_command_has_its_time(tmp_path: Path) -> None:
    endless = python("import signal; signal.pause()")
    with pytest.raises(ValueError, match=r"did not end within 0\.1 s"):
        run_key_command(endless, folder=tmp_path, limit=0.1)


def test_equal_keys_are_kept_once_in_order() -> None:
    assert distinct([Secret("b"), Secret("a"), Secret("b")]) == (Secret("b"), Secret("a"))
