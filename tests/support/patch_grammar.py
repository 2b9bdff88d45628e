"""The lark grammar that Codex CLI 0.171.0 declares for apply_patch (with environments), and a parser made of it."""

from __future__ import annotations

from functools import cache

from lark import Lark
from lark.exceptions import LarkError

DEFINITION = """\
start: begin_patch environment_id? hunk+ end_patch
begin_patch: "*** Begin Patch" LF
environment_id: "*** Environment ID: " filename LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"""


@cache
def _grammar() -> Lark:
    # lark refuses terminals that may be empty; an optional non-empty one says the same.
    return Lark(DEFINITION.replace("/(.*)/", "/(.+)/?"), parser="earley", lexer="dynamic")


def grammar_accepts(text: str) -> bool:
    """Whether the grammar derives the text."""
    try:
        _grammar().parse(text)
    except LarkError:
        return False
    return True
