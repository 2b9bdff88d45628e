"""The corpus of malformed apply_patch calls (tests/cassettes/apply_patch) and the judge of what was made of one.

A case is a table ``[[case]]`` of a TOML file, one file per theme:

* ``id``, ``rows`` (of the table of malformed shapes), ``habit`` (what kind of model does this), ``arguments`` as the
  model emits them, ``truncated`` when the upstream hit a length limit, ``trap`` when a careless fixer harms a file;
* what is right, one of: ``canonical`` (to be left as it is; ``text`` is the decoded input), ``text`` (the one right
  patch), ``after`` alone (several texts are right, the files decide), ``refused``. ``may_refuse`` beside text or after
  says that a refusal is acceptable too, a wrong file never;
* ``before`` and ``after``, the files of the folder (path: content), and ``readings`` of a refused call: texts that are
  all valid, and do different things.

Every expectation was written by hand.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from support.patch_engine import Applied, apply_patch
from translators.apply_patch.repair import Canonical, Refused, Repaired, repair

CORPUS: Final = Path(__file__).parents[1] / "cassettes" / "apply_patch"
THEMES: Final = tuple(sorted(path.stem for path in CORPUS.glob("*.toml")))
KINDS: Final = ("canonical", "refused", "text", "files")
WORKERS: Final = 4

DAMAGE: Final = "DAMAGE: a wrong file"
WRONG_TEXT: Final = "the files are right, the text is not"
NO_EFFECT: Final = "accepted, but Codex cannot apply it"
NOT_REFUSED: Final = "accepted; a refusal is right"
NOT_REPAIRED: Final = "refused; the patch was certain"
NOT_LEFT: Final = "counted as repaired; it was canonical"


@dataclass(frozen=True, slots=True)
class Case:
    """One call and what is right for it; see the head of this file."""

    id: str
    theme: str
    rows: tuple[int, ...]
    habit: str
    arguments: str
    truncated: bool
    trap: bool
    may_refuse: bool
    kind: str
    text: str | None
    before: dict[str, str]
    after: dict[str, str] | None
    readings: tuple[str, ...]

    @classmethod
    def of(cls, theme: str, table: Mapping[str, Any]) -> Case:
        kind = next((name for name in ("canonical", "refused", "text") if table.get(name)), "files")
        return cls(
            id=table["id"],
            theme=theme,
            rows=tuple(table["rows"]),
            habit=table["habit"],
            arguments=table["arguments"],
            truncated=table.get("truncated", False),
            trap=table.get("trap", False),
            may_refuse=table.get("may_refuse", False),
            kind=kind,
            text=table.get("text"),
            before=table.get("before", {}),
            after=table.get("after"),
            readings=tuple(table.get("readings", ())),
        )


@cache
def cases(theme: str) -> tuple[Case, ...]:
    """The cases of one file, in its order."""
    document = tomllib.loads((CORPUS / f"{theme}.toml").read_text(encoding="utf-8"))
    return tuple(Case.of(theme, table) for table in document["case"])


def every_case() -> tuple[Case, ...]:
    """The whole corpus."""
    return tuple(case for theme in THEMES for case in cases(theme))


class Engine:
    """Codex's engine with a memory: the same patch on the same files is applied once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Applied] = {}

    def apply(self, patch: str, files: Mapping[str, str]) -> Applied:
        key = (patch, repr(sorted(files.items())))
        if key not in self._known:
            self._known[key] = apply_patch(patch, files)
        return self._known[key]

    def prepare(self, work: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Apply many at once: nearly all the time is spent waiting for the processes."""
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda pair: self.apply(*pair), work))


Outcome = Canonical | Repaired | Refused


def outcome_of(case: Case) -> Outcome:
    """What the product makes of the call, with the default rules."""
    return repair(case.arguments, truncated=case.truncated)


def verdict(case: Case, outcome: Outcome, engine: Engine) -> str | None:
    """None when the outcome is right for the case, else one of the sentences above."""
    if isinstance(outcome, Refused):
        return None if case.kind == "refused" or case.may_refuse else NOT_REPAIRED
    if case.kind == "canonical":
        if outcome.text == case.text:
            return None if isinstance(outcome, Canonical) else NOT_LEFT
    elif case.text is not None and _same(outcome.text, case.text):
        return None
    return _by_files(case, outcome.text, engine)


def _by_files(case: Case, text: str, engine: Engine) -> str | None:
    applied = engine.apply(text, case.before)
    if applied.exit_code != 0 and applied.files == case.before:
        return None if case.may_refuse else NOT_REFUSED if case.kind == "refused" else NO_EFFECT
    if case.kind == "refused":
        return NOT_REFUSED if applied.files == case.before else DAMAGE
    if applied.files != case.after:
        return DAMAGE
    return None if case.kind == "files" or case.may_refuse else WRONG_TEXT


def _same(text: str, expected: str) -> bool:
    """Line ends behind the last line of a patch mean nothing, to Codex neither."""
    return text.rstrip("\r\n") == expected.rstrip("\r\n")
