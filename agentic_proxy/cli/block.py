"""A marked block in a file that belongs to somebody else: put in, renewed, and taken out again byte for byte.

Bytes, not text: line endings, encoding and a missing last line break stay as they are. The block says what it made
besides itself, so that taking it out can unmake that too.

The last marker stands behind the last value, on its line: who changes TOML for the user, as Codex does for each folder
that is trusted and each MCP server that is added, keeps such a comment with its value. One on a line of its own would
be taken for the end of the file, and what is added would come before it and so into the block.
"""

from __future__ import annotations

BEGIN = b"# >>> agentic-proxy: `agentic-proxy init --client CLIENT --undo` removes this block >>>"
END = b"# <<< agentic-proxy <<<"
MADE_FILE = b"# It made this file."
MADE_FOLDER = b"# It made this file and its folder."
_BREAKS = (b"\n", b"\r\n")
"""Editors may turn all line breaks of a file into those of their own."""


class BlockError(ValueError):
    """The file's markers do not make one block; the text says so to a person."""


def find(content: bytes) -> tuple[int, int] | None:
    """Where the block begins and ends, with the line break that was put before it; None when there is none.

    Raises BlockError when a marker stands alone or there is more than one block.
    """
    begins, ends = content.count(BEGIN), content.count(END)
    if begins == ends == 0:
        return None
    start, end = content.find(BEGIN), content.find(END) + len(END)
    if begins != 1 or ends != 1 or end <= start:
        raise BlockError("the markers of agentic-proxy's block in it were changed; remove the block by hand")
    end += len(_break_at(content, end))
    own_break = _break_at(content, start + len(BEGIN))
    if not made(content) and content[:start].endswith(own_break):
        start -= len(own_break)
    return start, end


def made(content: bytes) -> bytes:
    """What the block says it made besides itself: MADE_FILE, MADE_FOLDER or nothing."""
    after = content[content.find(BEGIN) + len(BEGIN) :].lstrip(b"\r\n")
    return next((line for line in (MADE_FILE, MADE_FOLDER) if after.startswith(line)), b"")


def with_block(content: bytes | None, text: str, *, folder_exists: bool = True) -> bytes:
    """The file with a block of this text: renewed in its place, else at the end. ``content`` None: there is no file.
    The last line of ``text`` holds a value.

    Raises BlockError.
    """
    if content is None:
        return _block(MADE_FILE if folder_exists else MADE_FOLDER, text)
    place = find(content)
    if place is None:
        return content + b"\n" + _block(b"", text)
    return content[: content.find(BEGIN)] + _block(made(content), text) + content[place[1] :]


def without_block(content: bytes) -> bytes | None:
    """The file as it would be without the block; None when nothing is left of a file that the block made.

    Raises BlockError.
    """
    place = find(content)
    if place is None:
        return content
    before, after = content[: place[0]], content[place[1] :]
    if before and after and not before.endswith(b"\n") and not after.startswith(_BREAKS):
        before += b"\n"  # what was added since would stand on the last line of before
    rest = before + after
    return None if not rest.strip() and made(content) else rest


def _block(made_too: bytes, text: str) -> bytes:
    body = text.removesuffix("\n").encode()
    return b"".join((BEGIN, b"\n", made_too, b"\n" if made_too else b"", body, b"  ", END, b"\n"))


def _break_at(content: bytes, place: int) -> bytes:
    return next((each for each in _BREAKS if content.startswith(each, place)), b"")
