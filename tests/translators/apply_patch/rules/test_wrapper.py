"""What stands around a patch text (rows 10, 14, 15, 20, 21, 28)."""

from __future__ import annotations

import pytest

from support.patch_fixes import AFTER, PATCH, Fix, check, reason_of

DELETE = "*** Begin Patch\n*** Delete File: src/b.py\n*** End Patch\n"
BOTH = PATCH.replace("*** Update", "*** Delete File: src/b.py\n*** Update")
BOTH_AFTER: dict[str, str | None] = {**AFTER, "src/b.py": None}
NO_END = PATCH.replace("*** End Patch\n", "")


def indented(by: str, text: str = PATCH) -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


FIXES = {
    "a BOM": Fix(("bom",), "\ufeff" + PATCH),
    "a BOM before the arguments": Fix(
        ("bom", "other_key"), arguments='\ufeff{"patch": "' + PATCH.replace("\n", "\\n") + '"}'
    ),
    "a fence": Fix(("fence",), f"```\n{PATCH}```"),
    "a fence with a language": Fix(("fence",), f"\n```diff\n{PATCH}```\n\n"),
    "a fence with a language behind a blank": Fix(("fence",), f"``` diff\n{PATCH}```"),
    "tildes": Fix(("fence",), f"~~~patch\n{PATCH}~~~\n"),
    "only the opening fence": Fix(("fence",), f"```\n{PATCH}"),
    "only the closing fence": Fix(("fence",), f"{PATCH}```"),
    "prose before": Fix(("prose",), "Here is the patch:\n\n" + PATCH),
    "prose after": Fix(("prose",), PATCH + "\nThis renames two.\n\n- one\n- two\n"),
    "prose around a fence": Fix(("prose",), f"Sure!\n\n```diff\n{PATCH}```\nDone."),
    "prose, a fence, no end": Fix(("prose", "fence", "missing_end"), f"Sure!\n```\n{NO_END}```\nDone."),
    "a fence around a heredoc": Fix(("fence", "heredoc"), f"```bash\napply_patch <<'EOF'\n{PATCH}EOF\n```"),
    "prose, a fence, a heredoc": Fix(
        ("prose", "fence", "heredoc"), f"Run this:\n```sh\napply_patch <<'EOF'\n{PATCH}EOF\n```\nThen test."
    ),
    "prose before a command": Fix(("prose", "heredoc"), f"I will run:\napply_patch <<'EOF'\n{PATCH}EOF\n"),
    "four blanks before every line": Fix(("dedent",), indented("    ")),
    "a tab before every line": Fix(("dedent",), indented("\t")),
    "the first indentation trimmed": Fix(("dedent",), indented("  ").lstrip(" ")),
    "no Begin, and the first indentation trimmed": Fix(
        ("dedent", "missing_begin"), indented("  ", PATCH.split("\n", 1)[1]).lstrip(" ")
    ),
    "a BOM before the indentation": Fix(("bom", "dedent"), "\ufeff" + indented("  ")),
    "indented in a fence": Fix(("fence", "dedent"), f"```\n{indented('  ')}```"),
    "two envelopes": Fix(("merge_envelopes",), DELETE + PATCH, patch=BOTH, after=BOTH_AFTER),
    "two envelopes and a blank line": Fix(("merge_envelopes",), DELETE + "\n" + PATCH, patch=BOTH, after=BOTH_AFTER),
    "the same envelope twice": Fix(("merge_envelopes",), PATCH + PATCH),
    "one line": Fix(("literal_newlines",), PATCH.replace("\n", "\\n")),
    "one line with everything escaped": Fix(
        ("literal_newlines",),
        PATCH.replace("+y", '+\ty = \\"a\\\\nb\\"').replace("\t", "\\t").replace("\n", "\\n"),
        patch=PATCH.replace("+y", '+\ty = "a\\nb"'),
        after={**AFTER, "n.txt": 'x\n\n\ty = "a\\nb"\n'},
    ),
    "one line with CRLF": Fix(("literal_newlines",), PATCH.replace("\n", "\\r\\n"), patch=PATCH.replace("\n", "\r\n")),
    "one line in a fence": Fix(("literal_newlines", "fence"), f"```\n{PATCH}```".replace("\n", "\\n")),
}


@pytest.mark.parametrize("name", FIXES)
def test_what_stands_around_a_patch_is_taken_away(name: str) -> None:
    check(FIXES[name])


REFUSALS = {
    "two envelopes for one file, by way of a folder": (
        PATCH + PATCH.replace("n.txt", "m.txt").replace("a.txt", "src/../a.txt").replace("+2", "+3"),
        "same file",
    ),
    "two envelopes for one file": (PATCH + PATCH.replace("+2", "+3"), "same file"),
    "a command before the command": (f"git pull\napply_patch <<'EOF'\n{PATCH}EOF\n", "not `*** Begin Patch`"),
    "prose between envelopes": (DELETE + "and then\n" + PATCH, "last line"),
    "a section after the end": (PATCH + "*** Delete File: src/b.py\n", "last line"),
    "added lines after the end": (PATCH + "+z\n", "last line"),
    "two fences with two patches": (f"```\n{PATCH}```\nor\n```\n{DELETE}```", "not `*** Begin Patch`"),
    "an open fence, and one in the context of an indented patch": (
        "```\n" + indented("    ", PATCH.replace("-two", " ```\n-two")),
        "not `*** Begin Patch`",
    ),
    "a fence in the context behind an open one, and no end": (
        "```\n" + NO_END.split("*** Add")[0].replace("+2", "+2\n ```\n three"),
        "not `*** Begin Patch`",
    ),
    "a fence as the last line of context behind an open one": (
        "```\n" + NO_END.split("*** Add")[0] + " ```",
        "not `*** Begin Patch`",
    ),
    "fences in the context of an indented patch behind prose": (
        "Here it is:\n"
        + indented(
            "    ",
            BOTH.replace("*** Delete", "*** Update File: m.md\n@@\n-x\n ```\n*** Delete").replace("-two", " ```\n-two"),
        ),
        "not `*** Begin Patch`",
    ),
    "one line that keeps a quote open": (PATCH.replace("+y", "+y = 'a\\n+b'").replace("\n", "\\n"), "line breaks"),
    "one line with a tab that may be code": (PATCH.replace("+y", "+a\\tb").replace("\n", "\\n"), "line breaks"),
    "one line with a blank line that may be code": (PATCH.replace("+y", "+y \\n").replace("\n", "\\n"), "line breaks"),
    "one line with an unknown escape": (PATCH.replace("+y", "+\\d").replace("\n", "\\n"), "line breaks"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_may_belong_to_the_patch_is_not_taken_away(name: str) -> None:
    text, reason = REFUSALS[name]
    assert reason in reason_of(text)


TRAPS = (
    "```python",
    "*** End Patch",
    "*** Begin Patch",
    "--- a/x",
    "+++ b/x",
    "@@ -1,2 +1,2 @@",
    "apply_patch <<'EOF'",
    "EOF",
    'print("a\\nb")',
    "    indented",
    "&lt;b&gt; \\",
)


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("sign", ["+", " ", "-"])
def test_content_that_looks_like_a_wrapper_survives(trap: str, sign: str) -> None:
    text = PATCH.replace("@@\n", f"@@\n{sign}{trap}\n")
    outcome = Fix((), f"Sure:\n\n```diff\n{text}```\n").result()
    assert outcome == text.removesuffix("\n")


def test_lines_indented_in_different_ways_are_refused() -> None:
    text = indented("  ").replace("  +x", " +x")
    assert "indented" in reason_of(text)
