"""What a model is told about patches when ``apply_patch`` reaches it as an ordinary function.

Models that never saw this format tend to send unified diffs; the example and the "not" sentences are aimed at that.
The text is constant: it sits in the prefix that upstreams cache.
"""

from __future__ import annotations

from typing import Final

__all__ = ["patch_instructions"]

_INSTRUCTIONS: Final = """\
The patch in `input` has its own format, which is not a unified diff (no ---/+++ headers, no line numbers):
- The first line is `*** Begin Patch`, the last line is `*** End Patch`. Nothing stands before or after them.
- Between them comes one section per file, each opened by one of these lines:
  `*** Add File: PATH` - a new file; every line of its content begins with `+`.
  `*** Delete File: PATH` - nothing follows.
  `*** Update File: PATH` - hunks follow; directly after it `*** Move to: NEW_PATH` renames the file.
- A hunk begins with `@@`, or with `@@ ` and a line of the file that stands above the place (a def or class line, say).
- In a hunk each line begins with one character: a space for a line that stays, `-` for one that goes, `+` for a new
  one. Copy old lines exactly, blanks included, and give about three lines of context on either side.
- `*** End of File` after a hunk ties it to the end of the file.

Example:
*** Begin Patch
*** Add File: notes.txt
+first line
+second line
*** Update File: src/greet.py
@@ def greet(name):
     name = name.strip()
-    print("Hi " + name)
+    print(f"Hello {name}")
     return name
*** End Patch"""

_ENVIRONMENT: Final = (
    "Where the grammar below has an `*** Environment ID:` line, it comes directly after `*** Begin Patch`, "
    "and only when there is an environment to name."
)


def patch_instructions(grammar: str | None) -> str:
    """The format in about 1.3 KB, and one sentence more when the client's ``grammar`` knows environments."""
    if grammar and "*** Environment ID:" in grammar:
        return f"{_INSTRUCTIONS}\n\n{_ENVIRONMENT}"
    return _INSTRUCTIONS
