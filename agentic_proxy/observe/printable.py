"""Text that others wrote, harmless on a terminal: control characters are shown there and not obeyed.

Names of models come from clients and upstreams, and an escape sequence in one could move the cursor, change the title
of the window, or hide the lines around it.
"""

from __future__ import annotations

import re

# C0 and C1 controls, separators of lines, what turns the direction of writing, and halves of characters, which no
# stream takes.
_UNSHOWN = r"\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_A_LINE = re.compile(rf"[\x00-\x1f{_UNSHOWN}]")
_IN_LINES = re.compile(rf"[\x00-\x08\x0b-\x1f{_UNSHOWN}]")


def one_line(text: str) -> str:
    r"""``text`` with each control character as JSON writes it: a line break is ``\u000a``."""
    return _IN_A_LINE.sub(_shown, text)


def lines(text: str) -> str:
    """The same where line breaks and tabs are meant. JSON stays the same JSON."""
    return _IN_LINES.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
