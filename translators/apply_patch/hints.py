"""The end of a loop: a model that gets the same patch failure again is told the right shape in so many words.

A client that could not apply a patch sends its parser's error back as the tool's output; some models answer with the
same patch for ever (openai/codex#35361). On its way up, the second output with the same text gets a hint. What is
written depends only on the items before it, so that a growing history keeps its prefix.
"""

from __future__ import annotations

import re
from typing import Final

from translators.apply_patch.names import TOOL
from translators.events import Json

__all__ = ["add_hints", "hint_for"]

_FAILURE: Final = re.compile(
    r"verification failed|invalid patch|invalid hunk|failed to find (?:expected lines|context)|"
    r"the (?:first|last) line of the patch must be|is not a valid hunk header|no files were modified|"
    r"failed to read file to update|incompatible payload",
    re.I,
)

_HINTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # what the output says, what helps
    (
        re.compile(r"failed to find (?:expected lines|context)", re.I),
        "This is the same failure as before. The old lines of the patch are not in the file as written: read the file "
        "again, copy the lines exactly (blanks included), and send a different patch. After `@@` stands nothing, or a "
        "line of the file; line numbers are not allowed.",
    ),
    (
        re.compile(r"failed to read file to update", re.I),
        "This is the same failure as before. The file that the patch updates does not exist under that path: list the "
        "folder and use its path relative to the working directory, without quotes. `*** Add File: PATH` makes it.",
    ),
    (
        re.compile("", re.I),
        "This is the same failure as before. Do not send this patch again. `input` must be exactly one patch in this "
        "shape, without fences, shell commands or diff headers:\n"
        "*** Begin Patch\n*** Update File: PATH\n@@\n line that stays\n-line that goes\n+new line\n*** End Patch\n"
        "A new file is `*** Add File: PATH` with `+` before every line.",
    ),
)


def hint_for(output: str) -> str:
    """The hint for a failure text of the patch tool, or "" for a text that is no such failure."""
    if _FAILURE.search(output) is None:
        return ""
    return next(hint for pattern, hint in _HINTS if pattern.search(output))


def add_hints(items: list[Json]) -> list[Json]:
    """Input items in hub form, before custom calls become functions: outputs of ``apply_patch`` whose failure text
    came before, word for word, get a hint appended. Returns the same list when there is none; never changes an item."""
    calls: set[object] = set()
    seen: set[str] = set()
    out = items
    for at, item in enumerate(items):
        kind = item.get("type")
        if kind == "custom_tool_call" and str(item.get("name", "")).strip() == TOOL:
            calls.add(item.get("call_id"))
        if kind != "custom_tool_call_output" or item.get("call_id") not in calls:
            continue
        text = _text(item.get("output"))
        # Only what came before is searched: a long history has many outputs.
        if text in seen and (hint := hint_for(text)):
            out = list(items) if out is items else out
            out[at] = {**item, "output": _with_hint(item["output"], hint)}
        seen.add(text)
    return out


def _text(output: object) -> str:
    """The text of an output: a string, or the text parts of a list."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(str(part.get("text", "")) for part in output if isinstance(part, dict))
    return ""


def _with_hint(output: object, hint: str) -> object:
    if isinstance(output, list):
        return [*output, {"type": "input_text", "text": hint}]
    return f"{output}\n\n{hint}"
