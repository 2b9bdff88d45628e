"""A marked block in a file that belongs to somebody else: put in, renewed, and taken out again byte for byte.

Bytes, not text: line endings, encoding and a missing last line break stay as they are. The block says what it made
besides itself, so that taking it out can unmake that too.
"""

from __future__ import annotations

BEGIN = b"# >>> agentic-proxy: `agentic-proxy init --client CLIENT --undo` removes this block >>>\n"
END = b"# <<< agentic-proxy <<<\n"
MADE_FILE = b"# It made this file.\n"
MADE_FOLDER = b"# It made this file and its folder.\n"


class BlockError(ValueError):
    """The file's markers do not make one block; the text says so to a person."""


def find(content: bytes) -> tuple[int, int] | None:
    """Where the block begins and ends, with the line break that was put before it; None when there is none.

    Raises BlockError when a marker stands alone or there is more than one block.
    """
    begins, ends = content.count(BEGIN), content.count(END)
    if begins == ends == 0:
        return None
    start, end = content.find(BEGIN), content.find(END)
    if begins != 1 or ends != 1 or end < start:
        raise BlockError("the markers of agentic-proxy's block in it were changed; remove the block by hand")
    own_break = not made(content) and content[:start].endswith(b"\n")
    return start - own_break, end + len(END)


def made(content: bytes) -> bytes:
    """What the block says it made besides itself: MADE_FILE, MADE_FOLDER or nothing."""
    after = content[content.find(BEGIN) + len(BEGIN) :]
    return next((line for line in (MADE_FILE, MADE_FOLDER) if after.startswith(line)), b"")


def with_block(content: bytes | None, text: str, *, folder_exists: bool = True) -> bytes:
    """The file with a block of this text: renewed in its place, else at the end. ``content`` None: there is no file.

    Raises BlockError.
    """
    body = text.encode()
    if content is None:
        return BEGIN + (MADE_FILE if folder_exists else MADE_FOLDER) + body + END
    place = find(content)
    if place is None:
        return content + b"\n" + BEGIN + body + END
    start = content.find(BEGIN)
    return content[:start] + BEGIN + made(content) + body + END + content[place[1] :]


def without_block(content: bytes) -> bytes | None:
    """The file as it would be without the block; None when nothing is left of a file that the block made.

    Raises BlockError.
    """
    place = find(content)
    if place is None:
        return content
    rest = content[: place[0]] + content[place[1] :]
    return None if not rest and made(content) else rest
