"""Generated edits, sent as unified diffs: applied by Codex's engine after conversion they give the edited files, or
nothing happens. The files are full of equal lines, so a place that is lost is a wrong file."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest

from support.patch_cases import Engine, Outcome
from translators.apply_patch.repair import Refused, repair

SEEDS = range(160)
LINES = (
    "def f():", "class A:", "class B:", "    return 1", "    return 2", "    x = 1", "", "", "    if x:", "        y()",
    "# c", "-- sql", "++ b", "@@ -1 +1 @@", "*** End Patch", "\ttab", "z = 3", "    pass", "--- a/x", "\\n",
)  # fmt: skip
PATHS = ("a.py", "src/b.py", "c.txt")
SHAPES = ("{}", "*** Begin Patch\n{}*** End Patch", "```diff\n{}```")


@dataclass(frozen=True, slots=True)
class Edit:
    """Files before and after, and the diff as a model would send it."""

    before: dict[str, str]
    after: dict[str, str]
    text: str


def _changed(random: Random, lines: list[str]) -> list[str]:
    lines = list(lines)
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(lines))
        match random.randrange(3):
            case 0:
                lines[place] = random.choice(LINES)
            case 1:
                lines.insert(place, random.choice(LINES))
            case _ if len(lines) > 1:
                del lines[place]
    return lines


def _diff(path: str, old: list[str], new: list[str], *, git: bool, named: bool) -> str:
    out = [f"diff --git a/{path} b/{path}", "index 83db48f..bf269f4 100644"] if git else []
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=3, lineterm=""):
        start = re.match(r"@@ -(\d+)", line)
        above = old[: int(start[1]) - 1] if start and named else []
        name = next((one for one in reversed(above) if re.match(r"[A-Za-z_$]", one)), "")
        out.append(f"{line} {name}".rstrip(" ") if start else line)
    return "".join(f"{line}\n" for line in out)


def _edit(seed: int) -> Edit:
    random = Random(seed)
    before, after, diffs = {}, {}, []
    git, named = random.random() < 0.5, random.random() < 0.7
    for path in random.sample(PATHS, random.randint(1, 2)):
        old = [random.choice(LINES) for _ in range(random.randint(1, 30))]
        new = _changed(random, old)
        before[path], after[path] = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
        if new != old:
            diffs.append(_diff(path, old, new, git=git, named=named))
    return Edit(before, after, random.choice(SHAPES).format("".join(diffs)))


@cache
def _edits() -> tuple[tuple[Edit, Outcome], ...]:
    edits = [_edit(seed) for seed in SEEDS]
    return tuple((edit, repair(json.dumps({"input": edit.text}))) for edit in edits if edit.before != edit.after)


def _work() -> Iterator[tuple[str, dict[str, str]]]:
    for edit, outcome in _edits():
        if not isinstance(outcome, Refused):
            yield outcome.text, edit.before


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = Engine()
    engine.prepare(_work())
    return engine


def test_a_converted_diff_gives_the_edited_files_or_nothing(engine: Engine) -> None:
    right, wrong = 0, []
    for edit, outcome in _edits():
        if isinstance(outcome, Refused):
            continue
        applied = engine.apply(outcome.text, edit.before)
        right += applied.files == edit.after
        if applied.files not in (edit.before, edit.after):
            wrong.append(f"{edit.text}\nbecame\n{outcome.text}\nand {edit.before} became {applied.files}")
    assert not wrong, "\n\n".join(wrong)
    assert right > 0.8 * len(_edits())
