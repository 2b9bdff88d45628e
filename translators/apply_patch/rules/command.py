"""A patch that stands in a shell command (rows 3 and 16), opened exactly as a shell would, or not at all.

Known forms: ``apply_patch`` with a heredoc, a here-string or one quoted argument, ``cat`` with a heredoc piped into
it, a bare heredoc, each behind ``cd FOLDER &&`` or inside ``bash -lc '...'``. Whatever a shell would expand, and any
further command, is a refusal.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from translators.apply_patch.parse import WHITE
from translators.apply_patch.rules.node import Node, Refusal, is_end

__all__ = ["COMMAND", "is_shell", "is_tool", "open_command"]

_TOOL: Final = r"(?:[\w./-]*/)?(?:functions\.)?apply[_-]?patch"
_SHELL: Final = r"(?:/(?:usr/)?bin/)?(?:env )?(?:ba|z|da)?sh"
COMMAND: Final = re.compile(
    r"(?:\$[ \t]+)?(?:cd[ \t]+[^\n;&]*+(?:&&|;|\n)\s*+)*+"
    rf"(?:{_TOOL}[ \t]*(?:<<|['\"$])|{_SHELL}[ \t]+-|cat[ \t]+<<|<<-?[ \t]*\S)"
)
_tool: Final = re.compile(_TOOL + r"(?=[ \t<'\"]|$)").match
_shell: Final = re.compile(_SHELL + r"((?:[ \t]+-\w+)+)[ \t]+").match
_cd: Final = re.compile(r"cd[ \t]+").match
_and: Final = re.compile(r"[ \t]*(?:&&|;|\n)\s*").match
_heredoc: Final = re.compile(
    r"<<(?P<dash>-?)[ \t]*(?:'(?P<single>[^'\n]+)'|\"(?P<double>[^\"\n]+)\"|(?P<escape>\\?)(?P<plain>[A-Za-z_]\w*))"
    r"[ \t]*(?P<more>[^\n]*)\n"
).match
_EXPANDS: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[A-Za-z_0-9{(@*#?$!-])")
_IN_HEREDOC: Final = re.compile(r"\\([\\$`\n])")
_IN_DOUBLE: Final = re.compile(r'\\(["\\$`\n])')

_EXPANSION: Final = "a shell would expand something in the patch, and what it would become is not known"
_MORE: Final = "more than the patch stands in the command"


def is_tool(word: str) -> bool:
    """Whether a word names the patch tool."""
    return re.fullmatch(_TOOL, word) is not None


def is_shell(word: str) -> bool:
    """Whether a word names a POSIX shell."""
    return re.fullmatch(_SHELL, word) is not None


def open_command(node: Node) -> Node | None:
    """The patch in a command text; relative paths will be taken from the folder that ``cd`` names."""
    text = node.value.lstrip(WHITE)
    if COMMAND.match(text) is None:
        return None
    body, folder = _open(text.rstrip(WHITE) + "\n", node.folder)
    return node.then("text", body, folder=folder)


def _refuse(reason: str) -> NoReturn:
    raise Refusal(reason)


def _open(text: str, folder: str) -> tuple[str, str]:
    text = re.sub(r"\A\$[ \t]+", "", text)
    while match := _cd(text):
        word, rest = _word(text[match.end() :], words=True)
        after = _and(rest)
        if after is None:
            _refuse(_MORE)
        folder, text = _join(folder, word), rest[after.end() :]
    if match := _shell(text):
        if not match[1].endswith("c"):
            _refuse(_MORE)
        script, rest = _word(text[match.end() :])
        _nothing(rest)
        return _open(script.strip(WHITE) + "\n", folder)
    if text.startswith("cat"):
        return _body(text[3:].lstrip(" \t"), piped=True, verbatim=False), folder
    tool = _tool(text)
    rest = text[tool.end() :].lstrip(" \t") if tool else text
    if rest.startswith("<<<"):
        rest = rest[3:].lstrip(" \t")
    elif rest.startswith("<<"):
        return _body(rest, piped=False, verbatim=tool is None), folder
    word, rest = _word(rest)
    _nothing(rest)
    return word, folder


def _nothing(rest: str) -> None:
    if rest.strip(WHITE):
        _refuse(_MORE)


def _join(folder: str, word: str) -> str:
    if not word or word.startswith(("~", "-")):
        _refuse("the folder that `cd` names is not known")
    if word.startswith("/"):
        return word.rstrip("/") or "/"
    word = word.rstrip("/").removeprefix("./")
    if word in ("", "."):
        return folder
    return f"{folder.rstrip('/')}/{word}" if folder else word


def _body(text: str, *, piped: bool, verbatim: bool) -> str:
    """The lines of a heredoc. ``verbatim``: no command stands before it, so nothing says that a shell reads it."""
    match = _heredoc(text)
    if match is None:
        _refuse(_MORE)
    more = match["more"].strip(WHITE)
    if piped:
        if re.fullmatch(r"\|[ \t]*" + _TOOL, more) is None:
            _refuse(_MORE)
    elif more:
        _refuse(_MORE)
    tag = match["single"] or match["double"] or match["plain"]
    lines = text[match.end() :].split("\n")
    if match["dash"]:
        lines = [line.lstrip("\t") for line in lines]
    body = "".join(line + "\n" for line in _until(lines, tag))
    if match["single"] or match["double"] or match["escape"]:
        return body
    if verbatim and tag == "EOF":
        return body  # Codex reads it like that
    if _EXPANDS.search(body):
        _refuse(_EXPANSION)
    plain = _IN_HEREDOC.sub(lambda found: "" if found[1] == "\n" else found[1], body)
    if verbatim and plain != body:
        _refuse(_EXPANSION)
    return plain


def _until(lines: list[str], tag: str) -> list[str]:
    """The lines before the closing tag. At the very end it may be indented, or missing after the end of the patch."""
    for at, line in enumerate(lines):
        if line.rstrip("\r") == tag:
            _nothing("\n".join(lines[at + 1 :]))
            return lines[:at]
    while lines and not lines[-1].strip(WHITE):
        lines = lines[:-1]
    if lines and lines[-1].strip(WHITE) == tag:
        return lines[:-1]
    if lines and is_end(lines[-1]):
        return lines
    _refuse("the heredoc has no end")


def _word(text: str, *, words: bool = False) -> tuple[str, str]:
    """One word of a shell and what follows it. ``words``: unquoted parts are allowed."""
    out: list[str] = []
    at = 0
    while at < len(text) and text[at] not in " \t\r\n;&|<>()":
        char = text[at]
        if char == "'":
            end = text.find("'", at + 1)
            if end < 0:
                _refuse("a quote is not closed")
            out.append(text[at + 1 : end])
            at = end + 1
        elif char == '"':
            match = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S).match(text, at)
            if match is None:
                _refuse("a quote is not closed")
            if _EXPANDS.search(match[1]):
                _refuse(_EXPANSION)
            out.append(_IN_DOUBLE.sub(lambda found: "" if found[1] == "\n" else found[1], match[1]))
            at = match.end()
        elif char == "\\" and at + 1 < len(text):
            out.append(text[at + 1])
            at += 2
        elif char in "$`*?[]{}~!\\" or not words:
            _refuse(_EXPANSION)
        else:
            out.append(char)
            at += 1
    return "".join(out), text[at:]
