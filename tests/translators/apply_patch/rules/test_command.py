"""Patches in shell commands (rows 3 and 16)."""

from __future__ import annotations

import json

import pytest

from support.patch_fixes import PATCH, Fix, check, reason_of
from translators.apply_patch.rules.command import is_shell, is_tool

dumps = json.dumps


def with_line(line: str) -> str:
    return PATCH.replace("+y\n", f"+y\n+{line}\n")


def added(line: str) -> dict[str, str | None]:
    return {"a.txt": "one\n2\nthree\n", "n.txt": f"x\n\ny\n{line}\n"}


IN_SRC = "*** Begin Patch\n*** Update File: {}b.py\n@@ def g():\n-    return 1\n+    return 2\n*** End Patch\n"
SRC_AFTER: dict[str, str | None] = {"src/b.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n"}
HERE = f"apply_patch <<'EOF'\n{PATCH}EOF\n"


def expanding(line: str) -> str:
    """A heredoc whose tag has no quotes: a shell expands what stands in it."""
    return f"apply_patch <<EOF\n{with_line(line)}EOF\n"


def literal(line: str) -> str:
    return expanding(line).replace("EOF", "'EOF'", 1)


FIXES = {
    "a heredoc": Fix(("heredoc",), HERE),
    "a heredoc without its last line break": Fix(("heredoc",), HERE[:-1]),
    "another tag": Fix(("heredoc",), f'applypatch << "PATCH"\n{PATCH}PATCH\n'),
    "a bare heredoc with another tag": Fix(("heredoc",), f"<<'PATCH'\n{PATCH}PATCH\n"),
    "a prompt": Fix(("heredoc",), "$ " + HERE),
    "a quoted tag keeps what a shell would expand": Fix(
        ("heredoc",),
        literal("$HOME `x` \\\\"),
        patch=with_line("$HOME `x` \\\\"),
        after=added("$HOME `x` \\\\"),
    ),
    "a plain tag is read as a shell reads it": Fix(
        ("heredoc",),
        expanding("\\$HOME \\`x\\` \\\\ \\n $"),
        patch=with_line("$HOME `x` \\ \\n $"),
        after=added("$HOME `x` \\ \\n $"),
    ),
    "tabs before the lines": Fix(
        ("heredoc",), "apply_patch <<-'EOF'\n" + "".join(f"\t{line}\n" for line in PATCH.splitlines()) + "\tEOF\n"
    ),
    "no closing tag": Fix(("heredoc",), f"apply_patch <<'EOF'\n{PATCH}"),
    "an indented closing tag": Fix(("heredoc",), f"apply_patch <<'EOF'\n{PATCH}  EOF"),
    "cat into the tool": Fix(("heredoc",), f"cat <<'EOF' | apply_patch\n{PATCH}EOF\n"),
    "a here-string": Fix(("heredoc",), f"apply_patch <<< '{PATCH}'"),
    "a quoted argument": Fix(("heredoc",), f"apply_patch '{PATCH}'"),
    "a quote in single quotes": Fix(
        ("heredoc",), "apply_patch '" + with_line("it'\\''s") + "'", patch=with_line("it's"), after=added("it's")
    ),
    "a double-quoted argument": Fix(
        ("heredoc",),
        'apply_patch "' + with_line('\\"\\$x\\" \\\\ \\n') + '"',
        patch=with_line('"$x" \\ \\n'),
        after=added('"$x" \\ \\n'),
    ),
    "bash -lc as text": Fix(("heredoc",), "bash -lc \"apply_patch <<'EOF'\n" + PATCH + 'EOF\n"'),
    "bash -lc as a list": Fix(("command", "heredoc"), arguments=dumps({"command": ["bash", "-lc", HERE]})),
    "bash -c with cd": Fix(
        ("command", "heredoc"),
        arguments=dumps({"cmd": ["/bin/bash", "-c", "cd src && apply_patch <<'EOF'\n" + IN_SRC.format("") + "EOF"]}),
        patch=IN_SRC.format("src/"),
        after=SRC_AFTER,
    ),
    "cd in quotes, twice": Fix(
        ("heredoc",),
        "cd ./ && cd 'src/'\napply_patch <<'EOF'\n" + IN_SRC.format("./") + "EOF",
        patch=IN_SRC.format("src/"),
        after=SRC_AFTER,
    ),
    "cd to where it is": Fix(("heredoc",), "cd . && " + HERE),
    "a heredoc in the added file": Fix(
        ("heredoc",),
        literal("cat <<EOF"),
        patch=with_line("cat <<EOF"),
        after=added("cat <<EOF"),
    ),
    "a heredoc around drifted markers": Fix(
        ("heredoc", "markers"), "apply_patch <<'EOF'\n" + PATCH.replace(" Patch\n", " Patch ***\n") + "EOF\n"
    ),
    "a bare heredoc around drifted markers": Fix(
        ("heredoc", "markers"), "<<'EOF'\n" + PATCH.replace("End Patch", "End of Patch") + "EOF\n"
    ),
}


@pytest.mark.parametrize("name", FIXES)
def test_a_command_is_opened_as_a_shell_would(name: str) -> None:
    check(FIXES[name])


def test_cd_to_an_absolute_folder_makes_the_paths_absolute() -> None:
    fix = Fix(
        ("heredoc",),
        "cd /srv/app && apply_patch <<'EOF'\n" + IN_SRC.format("") + "EOF",
        patch=IN_SRC.format("/srv/app/"),
    )
    assert fix.result() == fix.patch.removesuffix("\n")


def test_cd_moves_both_paths_of_a_rename_and_leaves_absolute_ones() -> None:
    text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** Delete File: /etc/c\n*** End Patch\n"
    outcome = Fix((), f"cd src && apply_patch <<'EOF'\n{text}EOF").result()
    assert outcome == text.removesuffix("\n").replace(": a", ": src/a").replace(": b", ": src/b")


REFUSALS = {
    "a variable": (expanding("$HOME"), "expand"),
    "a command substitution": (expanding("`date`"), "expand"),
    "a variable in double quotes": ('apply_patch "' + with_line("$x") + '"', "expand"),
    "a command after it": (HERE.rstrip() + "\npytest\n", "more than the patch"),
    "a command behind it": (HERE.replace("'EOF'\n", "'EOF' && pytest\n", 1), "more than the patch"),
    "a command after a quoted patch": (f"apply_patch '{PATCH}' && pytest", "more than the patch"),
    "a folder that is not known": ("cd ~/app && " + HERE, "expand"),
    "the folder before": ("cd - && " + HERE, "folder"),
    "a folder in a variable": ("cd $APP && " + HERE, "expand"),
    "cd that may fail": ("cd src || " + HERE, "not `*** Begin Patch`"),
    "an open quote": ("apply_patch '" + PATCH, "not closed"),
    "an open heredoc": ("apply_patch <<'EOF'\n" + PATCH.replace("*** End Patch\n", ""), "no end"),
    "the tag inside the patch": (f"apply_patch <<'y'\n{PATCH.replace('+y', 'y')}y\n", "more than the patch"),
    "echo": (f"echo '{PATCH}' | apply_patch", "not `*** Begin Patch`"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_a_shell_would_change_or_run_besides_is_refused(name: str) -> None:
    text, reason = REFUSALS[name]
    assert reason in reason_of(text)


def test_a_bare_heredoc_that_codex_takes_is_left_alone() -> None:
    text = f"<<EOF\n{with_line('$HOME')}EOF\n"
    assert Fix((), text).result() == text


@pytest.mark.parametrize(
    "word", ["apply_patch", "applypatch", "apply-patch", "/usr/bin/apply_patch", "functions.apply_patch"]
)
def test_the_tool_is_known_by_its_names(word: str) -> None:
    assert is_tool(word)
    assert not is_tool(word + "x")


@pytest.mark.parametrize("word", ["bash", "sh", "zsh", "/bin/bash", "/usr/bin/env bash"])
def test_a_shell_is_known_by_its_names(word: str) -> None:
    assert is_shell(word)
    assert not is_shell(word + "x")
